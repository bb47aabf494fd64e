; Program: banks of a cartridge with MBC2, and the half bytes of its RAM

    include "lib.asm"
    header "MICRO MBC2", $06, 0

; Bit 8 of the address says which register is written.
RAM_ENABLE equ $0000
ROM_BANK equ $2100
bank equ $4000
RAM equ $A000

    org $4000, 1
    db 1
    org $4000, 2
    db 2
    org $4000, 3
    db 3
    org $4000, 15
    db 15

    org $1000
main:
    ld a, [bank]
    call expect
    db 1
    ld a, 2
    call choose
    db 2
    ld a, 15
    call choose
    db 15
    ld a, $F3           ; the low four bits count
    call choose
    db 3
    ld a, $10           ; bank 0 is not to be had: it is 1
    call choose
    db 1
    ld a, 2
    ld [$0100], a
    ld a, [bank]
    call expect
    db 2
    ld a, 3             ; no register
    ld [$4100], a
    ld a, [bank]
    call expect
    db 2
    call check_ram
    jp pass

; Choose ROM bank a and compare its number with the byte after the call.
choose:
    ld [ROM_BANK], a
    ld a, [bank]
    jp expect

check_ram:
    ld a, [RAM]
    call expect
    db $FF
    ld a, $0A
    ld [RAM_ENABLE], a
    ld a, $35
    ld [RAM], a
    ld a, [RAM]
    call expect
    db $F5
    ld a, [RAM + $200]  ; there are 512 of them
    call expect
    db $F5
    ld a, $C8
    ld [$BFFF], a
    ld a, [RAM + $1FF]
    call expect
    db $F8
    ld a, 1             ; no register: there is one bank of RAM
    ld [$4000], a
    ld a, [RAM]
    call expect
    db $F5
    xor a
    ld [$3E00], a       ; which opens and closes RAM as well
    ld a, $99
    ld [RAM], a
    ld a, [RAM]
    call expect
    db $FF
    ld a, $1A           ; the low four bits count
    ld [RAM_ENABLE], a
    ld a, [RAM]
    call expect
    db $F5
    ret
