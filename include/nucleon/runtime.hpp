/*
 * A program as C++17 sees it: a header alone over nucleon/runtime.h. Nothing allocates or throws; errors are
 * nuc_status, memory is the caller's or that of a nucleon::Memory, whose sizes are constants.
 *
 *     alignas(16) static const unsigned char image[] = {...};
 *     static nucleon::Memory<STATE, PLANNED, TEMPORARY> memory;
 *     static nucleon::Program program;
 *     if (program.load(image, memory) != NUC_OK) ...
 *     nucleon::Span<const float> in{samples};
 *     program.set_input(0, in);
 *     program.run();
 *     for (float score : program.output<float>(0)) ...
 *
 * Generated C (nucleon codegen) needs no wrapper: its header is C++ as it stands.
 */
#ifndef NUCLEON_RUNTIME_HPP
#define NUCLEON_RUNTIME_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "nucleon/decision.h"
#include "nucleon/runtime.h"

namespace nucleon {

/* Elements next to each other that someone else owns, as std::span of C++20. */
template <class T> class Span {
public:
    constexpr Span() = default;
    constexpr Span(T *data, std::size_t size) : data_(data), size_(size) {}
    template <std::size_t N> constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
    template <class U, std::size_t N>
    constexpr Span(std::array<U, N> &array) : data_(array.data()), size_(N) {}
    template <class U, std::size_t N>
    constexpr Span(const std::array<U, N> &array) : data_(array.data()), size_(N) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>>
    constexpr Span(const Span<U> &other) : data_(other.data()), size_(other.size()) {}

    constexpr T *data() const { return data_; }
    constexpr std::size_t size() const { return size_; }
    constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
    constexpr bool empty() const { return size_ == 0; }
    constexpr T *begin() const { return data_; }
    constexpr T *end() const { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* The element type of the runtime for a type of C++. */
template <class T> struct ElementType;
template <> struct ElementType<float> : std::integral_constant<nuc_dtype, NUC_F32> {};
template <> struct ElementType<std::int8_t> : std::integral_constant<nuc_dtype, NUC_I8> {};
template <> struct ElementType<std::uint8_t> : std::integral_constant<nuc_dtype, NUC_U8> {};
template <> struct ElementType<std::int16_t> : std::integral_constant<nuc_dtype, NUC_I16> {};
template <> struct ElementType<std::int32_t> : std::integral_constant<nuc_dtype, NUC_I32> {};
template <> struct ElementType<std::int64_t> : std::integral_constant<nuc_dtype, NUC_I64> {};

/* int8 values: real value = (q - zero_point) * scale. */
struct Quantization {
    float scale;
    std::int32_t zero_point;

    constexpr float real(std::int8_t q) const { return static_cast<float>(q - zero_point) * scale; }

    /* To the nearest, half to even, as nucleon run quantizes. */
    std::int8_t quantized(float value) const
    {
        const float q = std::nearbyint(value * (1.0f / scale)) + static_cast<float>(zero_point);
        return q > 127.0f ? std::int8_t{127} : q > -128.0f ? static_cast<std::int8_t>(q) : std::int8_t{-128};
    }
};

/* Blocks of constant sizes for a program with one planned memory; 0 takes a byte. */
template <std::size_t State, std::size_t Planned, std::size_t Temporary> class Memory {
public:
    nuc_program_memory blocks()
    {
        nuc_program_memory m{};
        m.state = state_;
        m.state_size = State;
        m.planned[0] = planned_;
        m.planned_size[0] = Planned;
        m.temporary = temporary_;
        m.temporary_size = Temporary;
        return m;
    }

private:
    alignas(NUC_MEMORY_ALIGNMENT) unsigned char state_[State > 0 ? State : 1];
    alignas(NUC_MEMORY_ALIGNMENT) unsigned char planned_[Planned > 0 ? Planned : 1];
    alignas(NUC_MEMORY_ALIGNMENT) unsigned char temporary_[Temporary > 0 ? Temporary : 1];
};

/* A loaded program; unloaded where it ends. Its address stays. */
class Program {
public:
    Program() = default;
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;
    ~Program()
    {
        if (is_loaded_)
            nuc_program_unload(&program_);
    }

    nuc_status load(Span<const unsigned char> image, const nuc_program_memory &memory,
                    const nuc_kernel_table &kernels = nuc_default_kernels,
                    const nuc_backend_table &backends = nuc_default_backends)
    {
        const nuc_status status =
            nuc_program_load(&program_, image.data(), image.size(), &memory, &kernels, &backends, &detail_);
        is_loaded_ = status == NUC_OK;
        return status;
    }

    /* The bytes stay the caller's, as with nuc_program_set_input(). */
    template <class T> nuc_status set_input(std::size_t index, Span<T> values)
    {
        nuc_tensor t{};
        const nuc_status status = nuc_program_input_info(&program_, index, &t);
        if (status != NUC_OK)
            return status;
        if (t.dtype != ElementType<std::remove_const_t<T>>::value)
            return NUC_BAD_USAGE;
        return nuc_program_set_input(&program_, index, values.data(), values.size_bytes(), &detail_);
    }

    nuc_status run() { return nuc_program_execute(&program_, &detail_); }
    nuc_status reset() { return nuc_program_reset(&program_, &detail_); }

    /* Valid until the next run; empty where it is of another type. */
    template <class T> Span<const T> output(std::size_t index)
    {
        nuc_tensor t{};
        if (nuc_program_output(&program_, index, &t) != NUC_OK || t.dtype != ElementType<T>::value)
            return {};
        return {static_cast<const T *>(t.data), t.bytes / sizeof(T)};
    }

    /* Why the last call failed. */
    const nuc_detail &detail() const { return detail_; }
    nuc_program &get() { return program_; }

private:
    nuc_program program_{};
    nuc_detail detail_{};
    bool is_loaded_ = false;
};

/* Decisions in memory of constant size. */
template <std::size_t Found, std::size_t History> class Decider {
public:
    explicit Decider(const nuc_decision_rule &rule)
    {
        status_ = nuc_decider_init(&decider_, &rule, found_, Found, history_, History);
    }

    Decider(const Decider &) = delete;
    Decider &operator=(const Decider &) = delete;

    /* Of an inference: its outputs by the program's indices. */
    nuc_status run(const void *const *outputs)
    {
        return status_ != NUC_OK ? status_ : nuc_decider_run(&decider_, outputs);
    }

    void reset() { nuc_decider_reset(&decider_); }
    bool is_new() const { return decider_.is_new; }
    Span<const nuc_found> found() const { return {decider_.found, decider_.n_found}; }

private:
    nuc_found found_[Found > 0 ? Found : 1] = {};
    float history_[History > 0 ? History : 1] = {};
    nuc_decider decider_{};
    nuc_status status_ = NUC_NO_MEMORY;
};

} // namespace nucleon
#endif
