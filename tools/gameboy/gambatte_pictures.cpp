// Runs a ROM in libgambatte and writes its pictures, for `python -m tools.gameboy.free_games`.
//
//     gambatte_pictures ROM < FRAMES > PICTURES
//
// FRAMES has two numbers for each frame: the T since power-up at which it ends, and the buttons that
// are pressed in it, as gambatte::InputGetter has them. PICTURES gets 160 * 144 bytes for each, in
// shades from 0 (white) to 3. Build it with a copy of pokemon-speedrunning/gambatte-core:
//
//     g++ -O2 -std=c++11 -DHAVE_STDINT_H -I libgambatte/include THIS_FILE libgambatte.a
#include <cstdio>
#include <vector>

#include "gambatte.h"

static unsigned buttons(void *keys) { return *static_cast<unsigned *>(keys); }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    gambatte::GB machine;
    unsigned keys = 0;
    if (machine.load(argv[1], gambatte::GB::NO_BIOS | gambatte::GB::READONLY_SAV) != 0) return 1;
    machine.setInputGetter(buttons, &keys);
    machine.setTimeMode(true);
    for (unsigned at = 0xA000; at < 0xFFFF; ++at)  // memory is 0 in our machine, but for the logo
        if (at < 0xE000 || at >= 0xFF80 || (at >= 0xFE00 && at < 0xFEA0)) machine.externalWrite(at, 0);
    for (int palette = 0; palette < 3; ++palette)
        for (int shade = 0; shade < 4; ++shade)
            machine.setDmgPaletteColor(palette, shade, (3 - shade) * 0x555555ul);
    std::vector<gambatte::uint_least32_t> picture(160 * 144), sound(35112 + 4096);
    std::vector<unsigned char> shades(160 * 144);
    long done = 0;
    auto run_to = [&](long end) {  // it may run up to 2,064 samples too long
        while (done < end) {
            std::size_t samples = end - done < 35112 ? end - done : 35112;
            machine.runFor(picture.data(), 160, sound.data(), samples);
            done += samples;
        }
    };
    for (long end; std::scanf("%ld %u", &end, &keys) == 2;) {
        end /= 2;            // samples of sound are 2 T long
        run_to(end - 2200);  // the picture is whole, and the next one has not begun
        for (std::size_t i = 0; i < shades.size(); ++i) shades[i] = 3 - (picture[i] >> 6 & 3);
        std::fwrite(shades.data(), 1, shades.size(), stdout);
        run_to(end);
    }
    return 0;
}
