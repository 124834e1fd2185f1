/*
 * Readers that cannot have the parameters of the value they read, and where it pays that one side takes those of the
 * other instead of a requantization between the two.
 */
#ifndef NUC_QUANTIZE_ADOPT_H
#define NUC_QUANTIZE_ADOPT_H

#include "quantize/annotate_private.h"
#include "quantize/calibration.h"

/*
 * Values that only readers with zero point 0 read, as operands of a batched matrix product, perhaps behind moves: they
 * are observed so from the start.
 */
void nuc_annotate_symmetric(struct nuc_annotator *a);

/*
 * Once the observers' parameters are known, derived ones excepted.
 *
 * Results of a tanh or sigmoid that reach a small part of what their given steps could hold get steps of their own.
 *
 * Of values with one scale, by the squared error of rounding to steps of s, s^2 / 12, each reader counting the same:
 *
 *   - A value with steps of s, some of whose readers want zero point 0 with steps of r, gets zero point 0 itself, with
 *     steps of t over its range, where 2 t^2 <= s^2 + (s^2 + e), or up to 0.5 dB more for an operation less. e / 12 is
 *     the error of going from s to r: about r^2 / 12, none for finer steps, and six times as much for r = 2 s.
 *   - A group of tensors with steps of r within [0, 1), one of which is a sigmoid or softmax in steps of s = 1/256,
 *     takes its parameters where 2 s^2 <= r^2 + (s^2 + r^2).
 *
 * Values that are compared with a number alone get finer steps around it. Products change no integer: with a number,
 * one side takes the steps of the other, and with a mask of which samples show 0 and 1 alone; nor does neg.
 */
void nuc_adopt(struct nuc_calibration *c);

#endif
