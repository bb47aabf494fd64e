; Program: LY and LYC

    include "lib.asm"

    org $0048
    jp on_line

    header "MICRO LYC", $00

    org $1000
main:
    ld a, 66
    ldh [LYC], a
    ld a, %01000000
    ldh [STAT], a
    xor a
    ldh [IF_FLAGS], a
    ld a, %00000010
    ldh [IE], a
    ld bc, 0
    ei
    nop
    halt
    nop
    di
    ld a, b
    call expect
    db 66
    ld a, c
    call expect
    db %11000110        ; the source, match, mode 2
; LYC is compared at once, and a match asks at once.
    xor a
    ldh [IF_FLAGS], a
.line:
    ldh a, [LY]
    cp 100
    jr nz, .line
    ldh [LYC], a
    ldh a, [STAT]
    and %00000100
    call expect
    db %00000100
    ldh a, [IF_FLAGS]
    and %00000010
    call expect
    db %00000010
    ld a, 99
    ldh [LYC], a
    ldh a, [STAT]
    and %00000100
    call expect
    db 0
; Lines come in order, 154 in a frame; line 153 is short of what we can see, so 152 is the last.
    ld b, 0
.zero:
    ldh a, [LY]
    and a
    jr nz, .zero
.next:
    inc b
.same:
    ldh a, [LY]
    cp b
    jr c, .same
    jr z, .in_order
    jp fail
.in_order:
    ld a, b
    cp 152
    jr nz, .next
    ld a, b
    call expect
    db 152
    jp pass

on_line:
    ldh a, [LY]
    ld b, a
    ldh a, [STAT]
    ld c, a
    reti
