; Program: checks the link cable from both ends: run it on two consoles that are connected
; PyBoy: nobody is at the other end of its cable, and a transfer takes a quarter of the time
;
; The console that calls first drives the first transfers. How it went stands at $C000 (1 passed, 2
; failed), with the number of checks behind it, and on the screen. From $C010 on there are the bytes
; that came.

    include "hardware.asm"
    include "screen.asm"
    header "CABLE", $00

CALLS equ $A5        ; what the console says that calls, and the one that answers
ANSWERS equ $5A
ROUND equ 16        ; bytes

result equ $C000
checks equ $C001
role equ $C002      ; 1 called, 2 answered
falls equ $C003     ; writes to DIV that sent a byte
came equ $C010

message:
    db "CABLE", 0

main:
    ld hl, $C000
    xor a
.clear:
    ld [hl+], a
    bit 6, l
    jr z, .clear
    ld de, came
    call connect
    ld a, [role]
    dec a
    jr nz, second

first:
    call drive_round
    call follow_round
; Sixteen falls of bit 7 of the counter send a byte. Each of these writes to DIV is one.
    ld a, $C6
    ldh [SB], a
    call pause
    ld c, 0
    ldh [DIV], a
    ld a, %10000001
    ldh [SC], a
.hurry:
    ld b, 10
.wait:
    dec b
    jr nz, .wait
    inc c
    ldh [DIV], a
    ldh a, [SC]
    add a
    jr c, .hurry
    ld a, c
    ld [falls], a
    ld b, 16
    call expect
    ldh a, [SB]
    ld b, $39
    call expect
; The other side does not listen.
    ld a, $12
    call drive
    ld b, $FF
    call expect
    jr pass

second:
    call follow_round
    call drive_round
    ld a, $39
    call follow
    ld b, $C6
    call expect
    ld a, $77
    ldh [SB], a
    call pause
    call pause
    call pause
    call pause
    ldh a, [SB]
    ld b, $77
    call expect

pass:
    ld a, 1
    ld [result], a
    ld de, .text
    jr report
.text:
    db "OK", 0

fail:
    ld a, 2
    ld [result], a
    ld de, .text
    jr report
.text:
    db "FAIL", 0

; Show the text at de, for ever.
report:
    ldh a, [LY]
    cp 144
    jr nz, report
    ld hl, SCREEN + 10 * 32 + 2
.letter:
    ld a, [de]
    inc de
    and a
    jr z, .end
    ld [hl+], a
    jr .letter
.end:
    halt
    nop
    jr .end

; Compare a with b. What is in a has come: it is kept at de.
expect:
    ld [de], a
    inc de
    ld hl, checks
    inc [hl]
    cp b
    ret z
    pop hl
    jr fail

; The byte that a side drives in step c of a round, and the one that answers.
driven:
    ld a, c
    swap a
    add c
    xor $35
    ret
answered:
    ld a, c
    add a
    add c
    xor $81
    ret

drive_round:
    ld c, 0
.byte:
    call answered
    ld b, a
    call driven
    push bc
    call drive
    pop bc
    call expect
    ldh a, [IF_FLAGS]
    and %00001000
    jp z, fail
    xor a
    ldh [IF_FLAGS], a
    inc c
    ld a, c
    cp ROUND
    jr nz, .byte
    ret

follow_round:
    ld c, 0
.byte:
    call driven
    ld b, a
    call answered
    call follow
    call expect
    ldh a, [IF_FLAGS]
    and %00001000
    jp z, fail
    xor a
    ldh [IF_FLAGS], a
    inc c
    ld a, c
    cp ROUND
    jr nz, .byte
    ret

; Send a with our clock, once the other side had time to get ready; a is what came.
drive:
    ldh [SB], a
    call pause
    ld a, %10000001
    jr transfer
; Send a with the other side's clock.
follow:
    ldh [SB], a
    ld a, %10000000
transfer:
    ldh [SC], a
.wait:
    ldh a, [SC]
    add a
    jr c, .wait
    ldh a, [SB]
    ret

; Wait for about a millisecond and a half.
pause:
    push bc
    ld bc, 220
.wait:
    dec bc
    ld a, b
    or c
    jr nz, .wait
    pop bc
    ret

; Listen for a while, then call, until one of the two has heard the other.
connect:
    ldh a, [DIV]
    and 7
    add 2
    ld c, a
    ld a, ANSWERS
    ldh [SB], a
    ld a, %10000000
    ldh [SC], a
.listen:
    call pause
    ldh a, [SC]
    add a
    jr nc, .heard
    dec c
    jr nz, .listen
    ld a, CALLS
    ldh [SB], a
    ld a, %10000001
    call transfer
    cp ANSWERS
    jr nz, connect
    ld a, 1
    jr .end
.heard:
    ldh a, [SB]
    cp CALLS
    jr nz, connect
    ld a, 2
.end:
    ld [role], a
    xor a
    ldh [IF_FLAGS], a
    ret
