; Program: sources of the STAT interrupt that overlap ask once
; PyBoy: mode 2 asks again after mode 0

    include "lib.asm"

    org $0048
    inc de
    reti

    header "MICRO STAT", $00

    org $1000
main:
    ld a, 10
    ldh [LYC], a
    ld a, %00001000     ; mode 0: every line
    call count
    db 144
    ld a, %00010000     ; mode 1
    call count
    db 1
    ld a, %00100000     ; mode 2: every line, and once at line 144
    call count
    db 145
    ld a, %01000000     ; line 10
    call count
    db 1
    ld a, %00101000     ; mode 0 goes over into mode 2 of the next line: only line 0 asks again
    call count
    db 145
    ld a, %00011000     ; and mode 0 of line 143 into mode 1
    call count
    db 144
    ld a, %00110000     ; mode 1 into mode 2 of line 0
    call count
    db 144
    ld a, %01001000     ; line 10 asks when mode 0 of line 9 is over, and goes over into its own
    call count
    db 144
    jp pass

; Compare the interrupts of a frame with the byte after the call; a has the sources.
count:
    ld b, a
    ld hl, LY
.start:
    ld a, [hl]
    cp 150
    jr nz, .start
    ld a, b
    ldh [STAT], a
    xor a
    ldh [IF_FLAGS], a
    ld a, %00000010
    ldh [IE], a
    ld de, 0
    ei
.away:
    ld a, [hl]
    cp 150
    jr z, .away
.again:
    ld a, [hl]
    cp 150
    jr nz, .again
    di
    ld a, e
    jp expect
