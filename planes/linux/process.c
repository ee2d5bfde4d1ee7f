// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The host's process that the kernel is: random bytes from a seed, the same addresses in every run, no life after its
 * parent's. Compiled against the C library, as all of arch/um/os-Linux.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <init.h> /* last: its names are in the way of the others */

void fairlane_prepare(char **argv);
ssize_t fairlane_random(void *bytes, size_t length);

static uint64_t state; /* the seed, before the first random number */

/* SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014. */
static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Random bytes for the kernel, which has no other source of them. */
ssize_t fairlane_random(void *bytes, size_t length)
{
	size_t done, step;

	for (done = 0; done < length; done += step) {
		uint64_t word = next();

		step = length - done < sizeof(word) ? length - done : sizeof(word);
		memcpy((char *)bytes + done, &word, step);
	}
	return length;
}

static int __init set_seed(char *text, int *add)
{
	char *end;

	errno = 0;
	state = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno) {
		fprintf(stderr, "fairlane.seed=%s: not a number from 0 to 2^64 - 1\n", text);
		exit(1);
	}
	*add = 0;
	return 1;
}

__uml_setup("fairlane.seed=", set_seed,
"fairlane.seed=N\n"
"    Seed of all random numbers [default: 0].\n\n"
);

/*
 * The first thing that the process does. With random addresses the size of its memory differs from run to run, and with
 * it limits of TCP. A container may forbid fixed ones; then the run goes on.
 */
void fairlane_prepare(char **argv)
{
	int persona = personality(0xffffffff);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (persona == -1 || (persona & ADDR_NO_RANDOMIZE) || personality(persona | ADDR_NO_RANDOMIZE) == -1)
		return;
	execv("/proc/self/exe", argv);
}
