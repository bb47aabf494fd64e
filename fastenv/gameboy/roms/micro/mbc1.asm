; Program: banks of a cartridge with MBC1

    include "lib.asm"
    header "MICRO MBC1", $02, 3
    include "banks.asm"

MODE equ $6000

    org $1000
main:
    call check_rom
    ld a, 0             ; bank 0 is not to be had: it is 1
    call choose
    db 1
    ld a, 1
    ld [MODE], a
    call check_ram
    xor a
    ld [RAM_ENABLE], a
    ld a, $1A           ; the low four bits count
    ld [RAM_ENABLE], a
    ld a, [RAM]
    call expect
    db $51
; In mode 0 there is RAM bank 0 alone.
    ld a, 0
    ld [MODE], a
    ld a, [RAM]
    call expect
    db $50
    jp pass
