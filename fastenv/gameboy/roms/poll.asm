; Program: waits for VBlank by asking a byte of memory again and again

    include "hardware.asm"

    org $0040
    jp on_vblank

    include "screen.asm"
    header "POLL", $00

message:
    db "POLL", 0

vblank equ $C000
frames equ $C001

main:
    xor a
    ld [vblank], a
    inc a
    ldh [IE], a
    ei
.wait:
    ld a, [vblank]
    and a
    jr z, .wait
    xor a
    ld [vblank], a
    ld hl, frames
    inc [hl]
    ld a, [hl]
    ldh [SCX], a
    jr .wait

on_vblank:
    push af
    ld a, 1
    ld [vblank], a
    pop af
    reti
