; Program: waits without interrupts: it asks LY for VBlank, and counts down to wait longer

    include "hardware.asm"
    include "screen.asm"
    header "DELAY", $00

message:
    db "DELAY", 0

main:
    ld hl, SCX
.frame:
    ldh a, [LY]
    cp 144
    jr nz, .frame
    inc [hl]
    ld bc, 200          ; longer than VBlank takes
.count:
    dec bc
    ld a, b
    or c
    jr nz, .count
    ld b, 250
.short:
    dec b
    jr nz, .short
    jr .frame
