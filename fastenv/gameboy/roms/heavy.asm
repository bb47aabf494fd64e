; Program: Lantern Walk with a load of work in every frame, as a larger game has it

HEAVY equ 1
    include "game.asm"
