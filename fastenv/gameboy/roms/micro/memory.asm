; Program: echo RAM, memory that is not there, and bits of registers that do not exist

    include "lib.asm"
    header "MICRO MEMORY", $00

main:
    ld a, $A5
    ld [$C234], a
    ld a, [$E234]
    call expect
    db $A5
    ld a, $5A
    ld [$FDFF], a
    ld a, [$DDFF]
    call expect
    db $5A
    ld a, $12
    ld [$DE00], a
    ld a, $34
    ld [$DDFF], a
    ld a, [$DE00]
    call expect
    db $12
; A cartridge without RAM.
    ld a, $12
    ld [$A000], a
    ld a, [$A000]
    call expect
    db $FF
; ROM does not change.
    ld hl, here
    ld a, [hl]
    ld b, a
    cpl
    ld [hl], a
    ld a, [hl]
    xor b
    call expect
here:
    db 0
; High RAM, and IE with all its bits.
    ld a, $C3
    ldh [$FF80], a
    ldh a, [$FF80]
    call expect
    db $C3
    ld a, $E0
    ldh [IE], a
    ldh a, [IE]
    call expect
    db $E0
    xor a
    ldh [IE], a
; Bits that do not exist read 1.
    ldh [SC], a
    ldh a, [SC]
    call expect
    db $7E
    xor a
    ldh [TAC], a
    ldh a, [TAC]
    call expect
    db $F8
    xor a
    ldh [IF_FLAGS], a
    ldh a, [IF_FLAGS]
    and %11100000
    call expect
    db %11100000
    ldh a, [STAT]
    and %10000000
    call expect
    db %10000000
; Registers that do not exist.
    ldh a, [$FF03]
    call expect
    db $FF
    ldh a, [$FF08]
    call expect
    db $FF
    ldh a, [$FF4C]
    call expect
    db $FF
    ldh a, [$FF7F]
    call expect
    db $FF
    jp pass
