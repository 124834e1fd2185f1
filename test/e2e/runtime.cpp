/* runtime.cpp PROGRAM.pte <samples >outputs: a float program by the C++ wrapper, whose outputs are those of nucleon run. */
#include <cstdio>
#include <cstdlib>

#include "nucleon/runtime.hpp"

static nucleon::Memory<1 << 16, 1 << 17, 1 << 16> memory;
static nucleon::Program program;
alignas(NUC_MEMORY_ALIGNMENT) static unsigned char image[1 << 20];

static_assert(nucleon::Span<const int>{}.empty(), "a span is a constant");
static_assert(nucleon::Quantization{0.5f, 2}.real(4) > 0.99f, "so is a real value");

int main(int argc, char **argv)
{
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
    static float sample[64];

    if (file == nullptr)
        return 2;
    const std::size_t size = std::fread(image, 1, sizeof image, file);
    std::fclose(file);
    if (nuc_neutron_start() != NUC_OK || program.load({image, size}, memory.blocks()) != NUC_OK)
        return 1;
    if (nucleon::Quantization{0.5f, 2}.quantized(1e9f) != 127 || !program.output<std::int8_t>(0).empty())
        return 1;
    while (std::fread(sample, sizeof sample, 1, stdin) == 1) {
        if (program.set_input(0, nucleon::Span<const float>{sample}) != NUC_OK || program.run() != NUC_OK)
            return 1;
        for (float score : program.output<float>(0))
            std::fwrite(&score, sizeof score, 1, stdout);
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
