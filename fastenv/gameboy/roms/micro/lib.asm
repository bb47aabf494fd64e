; For programs that check the machine. Each starts at main and ends with jp pass, or in fail at the
; first check that fails. How it went stands in memory, in the registers (B C D E H L are 3 5 8 13 21
; 34 if all is well, else $42), and goes out of the serial port as "ok" or "fail " with the number of
; the check.

    include "../hardware.asm"

    org $C000
result: ds 1        ; 0 running, 1 passed, 2 failed
checks: ds 1        ; how many checks were made
seen: ds 1          ; in the last one
wanted: ds 1
free:               ; for the program

    org $0100
    nop
    jp start

    org $0150
start:
    di
    ld sp, $DFFF
    xor a
    ld [result], a
    ld [checks], a
    ldh [IE], a
    ldh [IF_FLAGS], a
    jp main

; Compare a with the byte after the call. hl and flags are lost.
expect:
    pop hl
    call check
    jp hl

; Compare a and f with the two bytes after the call. All three pairs but de are lost.
expect_af:
    push af
    pop bc
    pop hl
    ld a, b
    call check
    ld a, c
    call check
    jp hl

; Compare a with the byte at hl, and go on behind it.
check:
    ld [seen], a
    ld a, [hl+]
    ld [wanted], a
    push hl
    ld hl, checks
    inc [hl]
    ld hl, seen
    cp [hl]
    pop hl
    ld a, [seen]
    ret z

fail:
    ld hl, .text
    call send_text
    ld a, [checks]
    swap a
    call send_digit
    ld a, [checks]
    call send_digit
    ld a, 2
    ld [result], a
    ld a, $42
    ld b, a
    ld c, a
    ld d, a
    ld e, a
    ld h, a
    ld l, a
    jr finish
.text:
    db "fail ", 0

pass:
    ld hl, pass_text
    call send_text
    ld a, 1
    ld [result], a
    ld bc, $0305
    ld de, $080D
    ld hl, $1522
finish:
    ld b, b
    jr finish
pass_text:
    db "ok", 0

send_text:
    ld a, [hl+]
    and a
    ret z
    call send
    jr send_text

send_digit:
    and $0F
    add '0'
    cp '9' + 1
    jr c, send
    add 'A' - '9' - 1
; Send a. A transfer takes 1,024 machine cycles; we wait for longer and do not ask for its end, so that
; the program takes the same time where it comes earlier.
send:
    ldh [SB], a
    ld a, %10000001
    ldh [SC], a
    ld a, 110
    jp wait_tens

; Wait for the first line of VBlank, and turn the LCD off.
lcd_off:
    ldh a, [LCDC]
    add a
    ret nc
.wait:
    ldh a, [LY]
    cp 144
    jr nz, .wait
    xor a
    ldh [LCDC], a
    ret

; Wait 10 machine cycles times a, call and return included, for a from 2 on.
wait_tens:
    dec a
.more:
    nop
    nop
    nop
    nop
    nop
    nop
    dec a
    jr nz, .more
    ret
