; Program: writing DIV or TAC makes TIMA count where it takes the selected bit away

    include "lib.asm"
    header "MICRO DIV TAC", $00

; Every part writes DIV, sets TIMA to 0, and writes again 7 machine cycles after, where bit 5 of the
; counter is 0, 11 after, where it is 1, or 12 after, where bit 3 is 0.
main:
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    nop
    ldh [DIV], a        ; 7
    ldh a, [TIMA]
    call expect
    db 0
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    nop
    nop
    nop
    nop
    nop
    ldh [DIV], a        ; 11
    ldh a, [TIMA]
    call expect
    db 1
; Turning the timer off.
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    nop
    ldh [TAC], a        ; 7
    ldh a, [TIMA]
    call expect
    db 0
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    nop
    nop
    nop
    nop
    nop
    ldh [TAC], a        ; 11
    ldh a, [TIMA]
    call expect
    db 1
; Another rate: TIMA counts if its bit is 0. If it is 1, it becomes 0 one machine cycle later.
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    ld a, %00000101
    nop
    nop
    nop
    ldh [TAC], a        ; 11
    ldh a, [TIMA]
    call expect
    db 1
    call .prepare
    ldh [DIV], a
    ldh [TIMA], a
    ld a, %00000101
    nop
    nop
    nop
    nop
    ldh [TAC], a        ; 12
    ldh a, [TIMA]
    call expect
    db 1
    jp pass

.prepare:
    ld a, %00000110     ; 64 clocks: bit 5
    ldh [TAC], a
    xor a
    ret
