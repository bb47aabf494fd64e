; Program: OAM DMA copies 160 bytes, and the processor has no OAM meanwhile
; PyBoy: its DMA takes no time

    include "lib.asm"
    header "MICRO DMA", $00

main:
    call lcd_off
    ld hl, $C100
.fill:
    ld a, l
    xor $5A
    ld [hl+], a
    ld a, l
    and a
    jr nz, .fill
    ld hl, $FF80
    ld de, .code
    ld b, .code_end - .code
.copy:
    ld a, [de]
    inc de
    ld [hl+], a
    dec b
    jr nz, .copy
; All bytes have come, in order.
    ld a, 40
    call $FF80
    ld hl, OAM
    ld b, 0
.compare:
    ld a, l
    xor $5A
    cp [hl]
    jr z, .equal
    inc b
.equal:
    inc l
    ld a, l
    cp 160
    jr nz, .compare
    ld a, b
    call expect
    db 0
; The register has what was written.
    ldh a, [DMA]
    call expect
    db $C1
; OAM is not there from two machine cycles after the writing on.
    ld hl, OAM
    ld [hl], 0
    ld a, 1
    call $FF80
    ld a, b
    call expect
    db $FF
    ld a, 60
    call wait_tens
; 4 * 39 + 6 machine cycles after the writing it is still away, one more and it is back.
    ld a, 39
    call $FF80
    ld a, c
    call expect
    db $FF
    ld a, d
    call expect
    db $5A
    jp pass

; In high RAM: start DMA, read OAM into b, wait 4 a, then read it into c and d. The stack is where
; bytes are copied from, so that there is no way back before the end.
.code:
    ld e, a
    ld hl, OAM
    ld a, $C1
    ldh [DMA], a
    ld b, [hl]
    nop
.wait:
    dec e
    jr nz, .wait
    ld c, [hl]
    ld d, [hl]
    ld e, 40
.rest:
    dec e
    jr nz, .rest
    ret
.code_end:
