/*
 * A merge sort from the bottom up, without recursion.  Runs in the monitor
 * and in the commands; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "order.h"

#define RUN 8 /* so many are sorted by insertion */

static void
insertion(const void **v, size_t n, order_fn *cmp)
{
	const void *x;
	size_t i, j;

	for (i = 1; i < n; i++) {
		x = v[i];
		for (j = i; j > 0 && cmp(v[j - 1], x) > 0; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/* Two sorted runs, from[0..left) and from[left..n), into to. */
static void
merge(const void **from, size_t left, size_t n, const void **to, order_fn *cmp)
{
	size_t i = 0, j = left, k;

	for (k = 0; k < n; k++) {
		if (j == n || (i < left && cmp(from[i], from[j]) <= 0))
			to[k] = from[i++];
		else
			to[k] = from[j++];
	}
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void
order_sort(const void **v, size_t n, order_fn *cmp)
{
	const void **from = v, **to, **spare, **swap;
	size_t i, width;

	for (i = 0; i < n; i += RUN)
		insertion(v + i, least(RUN, n - i), cmp);
	if (n <= RUN)
		return;
	spare = to = xcalloc(n, sizeof(*spare));
	for (width = RUN; width < n; width *= 2) {
		for (i = 0; i < n; i += 2 * width)
			merge(from + i, least(width, n - i),
			      least(2 * width, n - i), to + i, cmp);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(spare);
}
