; Program: the game Lantern Walk

HEAVY equ 0
    include "game.asm"
