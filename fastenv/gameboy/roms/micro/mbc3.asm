; Program: banks of a cartridge with MBC3

    include "lib.asm"
    header "MICRO MBC3", $12, 3
    include "banks.asm"

    org $1000
main:
    call check_rom
    ld a, 0             ; bank 0 is not to be had: it is 1
    call choose
    db 1
    call check_ram
    xor a
    ld [RAM_ENABLE], a
    ld a, $1A           ; the low four bits count
    ld [RAM_ENABLE], a
    ld a, [RAM]
    call expect
    db $51
    jp pass
