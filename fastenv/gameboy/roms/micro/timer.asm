; Program: TIMA counts at its four rates; writing DIV starts the count anew

    include "lib.asm"
    header "MICRO TIMER", $00

main:
; TIMA is read 12 machine cycles and the wait after DIV was written.
    ld b, %00000101     ; 16 clocks
    call .start
    ld a, 7
    call wait_tens
    ldh a, [TIMA]
    call expect
    db 20
    ld b, %00000110     ; 64 clocks
    call .start
    ld a, 100
    call wait_tens
    ldh a, [TIMA]
    call expect
    db 63
    ld b, %00000111     ; 256 clocks
    call .start
    ld a, 250
    call wait_tens
    ldh a, [TIMA]
    call expect
    db 39
    ld b, %00000100     ; 1024 clocks
    call .start
    ld a, 255
    call wait_tens
    ld a, 255
    call wait_tens
    ldh a, [TIMA]
    call expect
    db 19
; DIV counts in steps of 256 clocks.
    ldh [DIV], a
    ld a, 200
    call wait_tens
    ldh a, [DIV]
    call expect
    db 31
; A stopped timer does not count.
    ld b, %00000001
    call .start
    ld a, 100
    call wait_tens
    ldh a, [TIMA]
    call expect
    db 0
; After an overflow it goes on from TMA, and asks for its interrupt.
    xor a
    ldh [IF_FLAGS], a
    ld a, $F0
    ldh [TMA], a
    ld b, %00000101
    call .start
    ld a, 120
    call wait_tens
    ldh a, [TIMA]
    cp $F0
    ld a, 0
    jr c, .below
    inc a
.below:
    call expect
    db 1
    ldh a, [IF_FLAGS]
    call expect
    db %11100100
    jp pass
.start:
    xor a
    ldh [TAC], a
    ldh [TIMA], a
    ld a, b
    ldh [DIV], a
    ldh [TAC], a
    ret
