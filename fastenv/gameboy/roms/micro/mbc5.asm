; Program: banks of a cartridge with MBC5

    include "lib.asm"
    header "MICRO MBC5", $1A, 3
    include "banks.asm"

    org $1000
main:
    call check_rom
    ld a, 0             ; bank 0 is a bank like others: its $0000 is what is seen
    ld [ROM_BANK], a
    ld a, [$4150]
    ld b, a
    ld a, [$0150]
    xor b
    call expect
    db 0
    call check_ram
    jp pass
