; Checks that the cartridges with banks share: eight banks of ROM, each with its number at $4000, and
; four of RAM.

    org $4000, 1
    db 1
    org $4000, 2
    db 2
    org $4000, 3
    db 3
    org $4000, 4
    db 4
    org $4000, 5
    db 5
    org $4000, 6
    db 6
    org $4000, 7
    db 7

bank equ $4000
RAM_ENABLE equ $0000
ROM_BANK equ $2000
RAM_BANK equ $4000
RAM equ $A000

    org $3000

; Choose ROM bank a and compare its number with the byte after the call.
choose:
    ld [ROM_BANK], a
    ld a, [bank]
    jp expect

; Banks 1 to 7, and numbers too large, of which the high bits do not count.
check_rom:
    ld a, [bank]
    call expect
    db 1
    ld a, 2
    call choose
    db 2
    ld a, 7
    call choose
    db 7
    ld a, 5
    call choose
    db 5
    ld a, 8 + 3
    call choose
    db 3
    ld a, 16 + 6
    call choose
    db 6
    ret

; RAM is there once $0A is written, and has four banks.
check_ram:
    ld a, [RAM]
    call expect
    db $FF
    ld a, $0A
    ld [RAM_ENABLE], a
    ld b, 4
.write:
    dec b
    ld a, b
    ld [RAM_BANK], a
    ld a, b
    add $50
    ld [RAM], a
    ld a, b
    and a
    jr nz, .write
    ld a, [RAM]
    call expect
    db $50
    ld a, 3
    ld [RAM_BANK], a
    ld a, [RAM]
    call expect
    db $53
    ld a, 1
    ld [RAM_BANK], a
    ld a, [RAM]
    call expect
    db $51
    xor a
    ld [RAM_ENABLE], a
    ld a, $99
    ld [RAM], a
    ld a, [RAM]
    call expect
    db $FF
    ld a, $0A
    ld [RAM_ENABLE], a
    ld a, [RAM]
    call expect
    db $51
    ret
