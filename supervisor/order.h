/*
 * Sorting what a stranger made: n log n at worst and stable, where qsort(3)
 * promises neither.
 */
#ifndef DW_ORDER_H
#define DW_ORDER_H

#include <stddef.h>

/* As strcmp(3) for two of the things pointed to. */
typedef int order_fn(const void *a, const void *b);

/* Sorts n pointers; equal ones keep their order. */
void order_sort(const void **v, size_t n, order_fn *cmp);

#endif
