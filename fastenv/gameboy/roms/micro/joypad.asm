; Program: the joypad: groups, levels and the interrupt of a falling line
; Keys: A UP
; PyBoy: it does not read back which groups are chosen

    include "lib.asm"
    header "MICRO JOYPAD", $00

main:
    ld b, %00110000     ; no group
    call read
    db $FF
    ld b, %00100000     ; directions
    call read
    db $EF
    ld b, %00010000     ; buttons
    call read
    db $DF
    ld b, %00000000     ; both
    call read
    db $CF
; Now A and Up are pressed, and stay so.
    ld a, %00010000
    ldh [P1], a
.wait:
    ldh a, [P1]
    and 1
    jr nz, .wait
    ldh a, [IF_FLAGS]
    and %00010000
    call expect
    db %00010000
    ld b, %00110000
    call read
    db $FF
    ld b, %00100000
    call read
    db $EB
    ld b, %00010000
    call read
    db $DE
    ld b, %00000000
    call read
    db $CA
; Choosing a group makes lines fall too; choosing it again does not.
    ld a, %00110000
    ldh [P1], a
    xor a
    ldh [IF_FLAGS], a
    ld a, %00100000
    ldh [P1], a
    ldh a, [IF_FLAGS]
    and %00010000
    call expect
    db %00010000
    xor a
    ldh [IF_FLAGS], a
    ld a, %00100000
    ldh [P1], a
    ldh a, [IF_FLAGS]
    and %00010000
    call expect
    db 0
    jp pass

; Choose groups b and compare what is read with the byte after the call.
read:
    ld a, b
    ldh [P1], a
    ldh a, [P1]
    ldh a, [P1]
    jp expect
