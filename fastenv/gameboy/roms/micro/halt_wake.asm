; Program: HALT ends with a request, with and without interrupts allowed

    include "lib.asm"

    org $0050
    inc e
    reti

    header "MICRO HALT", $00

    org $1000
main:
    ld a, %00000100
    ldh [IE], a
; Interrupts off: the request wakes, is not served and stays.
    call start_timer
    ld e, 0
    di
    halt
    nop
    ld a, e
    call expect
    db 0
    ldh a, [IF_FLAGS]
    and %00000100
    call expect
    db %00000100
; Interrupts on: it is served, and the program goes on behind HALT.
    call start_timer
    ld e, 0
    ei
    nop
    halt
    nop
    di
    ld a, e
    call expect
    db 1
    ldh a, [IF_FLAGS]
    and %00000100
    call expect
    db 0
; A request that IE does not have does not wake: the timer comes first.
    xor a
    ldh [IF_FLAGS], a
    ld a, %00000100
    ldh [IE], a
    ld a, $00
    ldh [TIMA], a
    ld a, %00010000
    ldh [IF_FLAGS], a
    ld a, %00000101
    ldh [TAC], a
    halt
    nop
    xor a
    ldh [TAC], a
    ldh a, [IF_FLAGS]
    call expect
    db %11110100
    jp pass

; A request of the timer in 16 * 16 clocks.
start_timer:
    xor a
    ldh [TAC], a
    ldh [IF_FLAGS], a
    ldh [TMA], a
    ld a, -16
    ldh [TIMA], a
    ld a, %00000101
    ldh [TAC], a
    ret
