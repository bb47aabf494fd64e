; Program: HALT with a request and interrupts off reads the next byte twice
; PyBoy: it has no HALT bug

    include "lib.asm"
    header "MICRO HALT BUG", $00

main:
    ld a, %00000100
    ldh [IE], a
    ldh [IF_FLAGS], a
    ld a, 0
    halt
    inc a
    nop
    call expect
    db 2
; An instruction of two bytes takes its own opcode as operand.
    ld b, 0
    halt
    ld b, $04           ; read as LD B,$06 and INC B
    ld a, b
    call expect
    db 7
; Without a request there is no bug.
    xor a
    ldh [IF_FLAGS], a
    ldh [TMA], a
    ld a, -4
    ldh [TIMA], a
    ld a, %00000101
    ldh [TAC], a
    ld a, 0
    halt
    inc a
    call expect
    db 1
    jp pass
