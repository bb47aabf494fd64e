; Program: DAA after additions and subtractions

    include "lib.asm"
    header "MICRO DAA", $00

FZ equ %10000000
FN equ %01000000
FC equ %00010000

main:
    ld a, $15
    add $27
    daa
    call expect_af
    db $42, 0
    ld a, $99
    add $01
    daa
    call expect_af
    db $00, FZ | FC
    ld a, $90
    add $90
    daa
    call expect_af
    db $80, FC
    ld a, $08
    add $08
    daa
    call expect_af
    db $16, 0
    ld a, $42
    sub $15
    daa
    call expect_af
    db $27, FN
    ld a, $10
    sub $20
    daa
    call expect_af
    db $90, FN | FC
    ld a, $05
    sub $05
    daa
    call expect_af
    db $00, FZ | FN
; Nothing is added for a large number after a subtraction.
    ld a, $FF
    sub $01
    daa
    call expect_af
    db $FE, FN
    and a
    ld a, $9A
    daa
    call expect_af
    db $00, FZ | FC
    scf
    ld a, $00
    daa
    call expect_af
    db $60, FC
; All numbers from 00 to 99, counted up in decimal, and their sum: 4950.
    ld b, 0             ; the number
    ld d, 0             ; sum, two bytes in decimal
    ld e, 0
.count:
    ld a, e
    add b
    daa
    ld e, a
    ld a, d
    adc 0
    daa
    ld d, a
    ld a, b
    add 1
    daa
    ld b, a
    jr nc, .count
    ld a, d
    call expect
    db $49
    ld a, e
    call expect
    db $50
    jp pass
