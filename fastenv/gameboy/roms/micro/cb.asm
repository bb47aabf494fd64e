; Program: rotations, shifts, SWAP and bits, on registers and memory

    include "lib.asm"
    header "MICRO CB", $00

FZ equ %10000000
FH equ %00100000
FC equ %00010000

main:
    and a
    ld a, $85
    rlc a
    call expect_af
    db $0B, FC
    ld a, 0
    rlc a
    call expect_af
    db $00, FZ
    ld a, $01
    rrc a
    call expect_af
    db $80, FC
    and a
    ld a, $80
    rl a
    call expect_af
    db $00, FZ | FC
    scf
    ld a, $11
    rl a
    call expect_af
    db $23, 0
    scf
    ld a, $01
    rr a
    call expect_af
    db $80, FC
    and a
    ld a, $01
    rr a
    call expect_af
    db $00, FZ | FC
    ld a, $FF
    sla a
    call expect_af
    db $FE, FC
    ld a, $8A
    sra a
    call expect_af
    db $C5, 0
    ld a, $01
    sra a
    call expect_af
    db $00, FZ | FC
    scf
    ld a, $F1
    swap a
    call expect_af
    db $1F, 0
    ld a, $FF
    srl a
    call expect_af
    db $7F, FC
; BIT leaves the carry alone.
    scf
    ld a, $7F
    bit 7, a
    call expect_af
    db $7F, FZ | FH | FC
    and a
    ld a, $10
    bit 4, a
    call expect_af
    db $10, FH
; Each register in turn, through a chain.
    ld b, $01
    sla b
    ld c, b
    sla c
    ld d, c
    sla d
    ld e, d
    sla e
    ld h, e
    sla h
    ld l, h
    sla l
    ld a, l
    call expect
    db $40
; Memory.
    ld a, $0F
    ld [free], a
    ld hl, free
    swap [hl]
    ld a, [free]
    call expect
    db $F0
    ld hl, free
    set 0, [hl]
    res 7, [hl]
    rrc [hl]
    ld a, [free]
    call expect
    db $B8
    ld hl, free
    bit 3, [hl]
    ld a, 0
    jr z, .clear
    inc a
.clear:
    call expect
    db 1
; All eight bits, set one by one.
    xor a
    set 0, a
    set 1, a
    set 2, a
    set 3, a
    set 4, a
    set 5, a
    set 6, a
    set 7, a
    call expect
    db $FF
    res 1, a
    res 3, a
    res 5, a
    res 7, a
    call expect
    db $55
    jp pass
