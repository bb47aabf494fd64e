; Program: EI works after the next instruction; DI right behind it wins

    include "lib.asm"

    org $0050
    ld d, b             ; how far the program had come
    inc e               ; how many interrupts
    ret                 ; interrupts stay off

    header "MICRO EI", $00

    org $1000
main:
    ld a, %00000100
    ldh [IE], a
; EI, one instruction, then the interrupt.
    ld b, 0
    ld e, 0
    ld a, %00000100
    ldh [IF_FLAGS], a
    ei
    inc b
    inc b
    inc b
    ld a, d
    call expect
    db 1
    ld a, e
    call expect
    db 1
; EI and DI: none.
    ld e, 0
    ld a, %00000100
    ldh [IF_FLAGS], a
    ei
    di
    nop
    nop
    ld a, e
    call expect
    db 0
; A row of EI does not put it off.
    ld b, 0
    ld e, 0
    ei
    ei
    inc b
    inc b
    ld a, d
    call expect
    db 0
    ld a, e
    call expect
    db 1
; RETI has no delay.
    ld b, 0
    ld e, 0
    ld a, %00000100
    ldh [IF_FLAGS], a
    ld hl, .returned
    push hl
    reti
.returned:
    inc b
    inc b
    ld a, d
    call expect
    db 0
; The interrupt clears its request alone.
    ld a, %00010100
    ldh [IF_FLAGS], a
    ei
    nop
    nop
    ldh a, [IF_FLAGS]
    call expect
    db %11110000
    jp pass
