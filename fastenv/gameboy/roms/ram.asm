; Memory of Lantern Walk. What lies from map to cells is a contract (docs/lantern_walk.md):
; environments and solvers read it, and the game does not move it.

    org $C000
oam: ds 160

    org $C100
map: ds 1           ; 0 outdoors, 1 house, 2 cellar
x: ds 1             ; cell, 0 to 15
y: ds 1
facing: ds 1        ; 0 down, 1 up, 2 left, 3 right
move: ds 1          ; frames left in the current walk
dialogue: ds 1      ; 0 none, else number of the text
items: ds 1         ; candles found
steps: ds 2         ; cells walked, low byte first
held: ds 1          ; buttons: A B Select Start Right Left Up Down from bit 0
new: ds 1           ; of these what was pressed in this frame
frame: ds 1
px: ds 1            ; position in pixels
py: ds 1
done: ds 1          ; 1 once the quest is finished
rng: ds 1
flags: ds 12        ; candles taken: byte map * 4 + y / 4, bit (x + 2 * y) & 7
quest: ds 4         ; in the first byte: bit 0 flame received, 1 delivered, 2 lanterns lit

mode: ds 1          ; MODE_...
camera_x: ds 1
camera_y: ds 1
feet: ds 1          ; BEHIND if in tall grass, else 0
redraw: ds 1        ; cell to draw again in the next VBlank, $FF none
text: ds 2          ; next character of the open text
cursor: ds 2        ; where it goes on the screen
text_state: ds 1    ; TEXT_...
fade: ds 1          ; frames since a change of scene began
scene_next: ds 1    ; SCENE_... to change to
door: ds 3          ; map, cell and facing behind the door
light: ds 1         ; palette of the scene: row of palettes
walker: ds 1        ; position of the hero in the night scene
drift_down: ds 1    ; see drifts
checksum: ds 2      ; of the work in heavy

    org $C200
cells: ds 256       ; kinds of the current map, row by row

    org $C300
drifting: ds 16     ; y and x of eight fireflies, leaves or motes

    org $FF80
start_dma: ds 10
vblank: ds 1        ; 1 once the VBlank interrupt has been
