; Program: waits for VBlank in HALT

    include "hardware.asm"

    org $0040
    jp on_vblank

    include "screen.asm"
    header "HALT", $00

message:
    db "HALT", 0

frames equ $C001

main:
    ld a, 1
    ldh [IE], a
    ei
.wait:
    nop
    halt
    nop
    ld hl, frames
    inc [hl]
    ld a, [hl]
    ldh [SCX], a
    jr .wait

on_vblank:
    reti
