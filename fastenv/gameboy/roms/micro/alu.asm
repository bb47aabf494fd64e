; Program: flags and results of arithmetic on A, HL and SP

    include "lib.asm"
    header "MICRO ALU", $00


FZ equ %10000000
FN equ %01000000
FH equ %00100000
FC equ %00010000

main:
    ld a, $3A
    add $C6
    call expect_af
    db $00, FZ | FH | FC
    ld a, $0F
    add $01
    call expect_af
    db $10, FH
    ld a, $F0
    add $20
    call expect_af
    db $10, FC
    scf
    ld a, $E1
    adc $0F
    call expect_af
    db $F1, FH
    scf
    ld a, $E1
    adc $1E
    call expect_af
    db $00, FZ | FH | FC
    ld a, $3E
    sub $3E
    call expect_af
    db $00, FZ | FN
    ld a, $3E
    sub $0F
    call expect_af
    db $2F, FN | FH
    ld a, $3E
    sub $40
    call expect_af
    db $FE, FN | FC
    scf
    ld a, $3B
    sbc $2A
    call expect_af
    db $10, FN
    scf
    ld a, $3B
    sbc $4F
    call expect_af
    db $EB, FN | FH | FC
    scf
    ld a, $00
    sbc $FF
    call expect_af
    db $00, FZ | FN | FH | FC
    scf
    ld a, $5A
    and $3F
    call expect_af
    db $1A, FH
    ld a, $5A
    and $25
    call expect_af
    db $00, FZ | FH
    scf
    ld a, $5A
    xor $0F
    call expect_af
    db $55, 0
    xor a
    call expect_af
    db $00, FZ
    scf
    ld a, $5A
    or $0F
    call expect_af
    db $5F, 0
    ld a, $3C
    cp $2F
    call expect_af
    db $3C, FN | FH
    ld a, $3C
    cp $40
    call expect_af
    db $3C, FN | FC
; INC and DEC leave the carry alone.
    scf
    ld a, $FF
    inc a
    call expect_af
    db $00, FZ | FH | FC
    and a
    ld a, $0F
    inc a
    call expect_af
    db $10, FH
    scf
    ld a, $10
    dec a
    call expect_af
    db $0F, FN | FH | FC
    and a
    ld a, $01
    dec a
    call expect_af
    db $00, FZ | FN
; Rotations of A clear Z.
    and a
    ld a, $85
    rlca
    call expect_af
    db $0B, FC
    and a
    ld a, $80
    rla
    call expect_af
    db $00, FC
    and a
    ld a, $01
    rrca
    call expect_af
    db $80, FC
    scf
    ld a, $02
    rra
    call expect_af
    db $81, 0
; CPL sets N and H; SCF and CCF clear them; Z stays.
    xor a
    cpl
    call expect_af
    db $FF, FZ | FN | FH
    xor a
    cpl
    scf
    call expect_af
    db $FF, FZ | FC
    xor a
    cpl
    scf
    ccf
    call expect_af
    db $FF, FZ
; ADD HL: carries from bits 11 and 15, Z stays.
    xor a
    ld hl, $8FFF
    ld bc, $7001
    add hl, bc
    call expect_af
    db $00, FZ | FH | FC
    xor a
    inc a
    ld hl, $0FFF
    add hl, hl
    call expect_af
    db $01, FH
; SP plus a signed byte: flags of the unsigned low bytes.
    xor a
    ld sp, $D00F
    add sp, 1
    call expect_af
    db $00, FH
    xor a
    ld sp, $D0F0
    add sp, $10
    call expect_af
    db $00, FC
    xor a
    ld sp, $D001
    add sp, -1
    call expect_af
    db $00, FH | FC
    ld sp, $D00F
    ld hl, sp+1
    ld a, l
    call expect
    db $10
    ld sp, $D000
    ld hl, sp-1
    ld a, h
    ld sp, $DFFF
    call expect
    db $CF
; INC of a pair has no flags.
    xor a
    ld de, $FFFF
    inc de
    ld a, d
    call expect_af
    db $00, FZ
    jp pass
