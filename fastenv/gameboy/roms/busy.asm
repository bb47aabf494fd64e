; Program: an endless loop of arithmetic and memory; no interrupt, no HALT

    include "hardware.asm"
    include "screen.asm"
    header "BUSY", $00

message:
    db "BUSY", 0

; 41 instructions in 64 machine cycles, 11,247 a frame.
main:
    ld hl, $C000
    ld de, $C800
    ld bc, $1234
loop:
    ld a, [hl]
    add b
    ld [hl+], a
    ld a, [de]
    xor c
    ld [de], a
    rlca
    adc c
    ld b, a
    and $3F
    or $C0
    ld [hl], a
    sub b
    ld c, a
    inc de
    ld a, [hl+]
    swap a
    cp b
    sbc c
    ld [de], a
    inc e
    cpl
    ld c, a
    ld a, [de]
    add c
    daa
    ld [de], a
    srl b
    rl c
    bit 3, b
    dec c
    scf
    adc b
    res 3, h
    res 4, h
    res 5, h
    set 3, d
    res 4, d
    inc b
    ld a, b
    jr loop
