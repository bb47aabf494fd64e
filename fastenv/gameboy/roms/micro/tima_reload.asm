; Program: TIMA in the two machine cycles after it overflowed
; PyBoy: a write to TIMA before the reload does not cancel the interrupt

    include "lib.asm"
    header "MICRO RELOAD", $00

; Every part writes DIV and starts the timer, which overflows 8 machine cycles after the writing of
; DIV; the first instruction behind it begins 4 after.
main:
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    ldh a, [TIMA]       ; at 7
    call expect
    db $FF
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    nop
    ldh a, [TIMA]       ; at 8: a machine cycle of 0
    call expect
    db $00
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    nop
    nop
    ldh a, [TIMA]       ; at 9
    call expect
    db $33
    ldh a, [IF_FLAGS]
    call expect
    db %11100100
; A write at 8 stays, and there is neither reload nor interrupt.
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    nop
    ldh [TIMA], a
    ldh a, [TIMA]
    call expect
    db 5
    ldh a, [IF_FLAGS]
    call expect
    db %11100000
; A write at 9 is lost; it has gone on by 1 when it is read, at 13.
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    nop
    nop
    ldh [TIMA], a
    nop
    ldh a, [TIMA]
    call expect
    db $34
; TMA written at 9 goes to TIMA as well.
    call .prepare
    ldh [DIV], a
    ldh [TAC], a
    nop
    nop
    nop
    ldh [TMA], a
    nop
    ldh a, [TIMA]
    call expect
    db 6
    jp pass

.prepare:
    xor a
    ldh [TAC], a
    ldh [IF_FLAGS], a
    ld a, $FE
    ldh [TIMA], a
    ld a, $33
    ldh [TMA], a
    ld a, %00000101
    ret
