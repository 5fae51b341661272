// What a container sees and can do with its GPU; run by tests/nvidia/card.
//
//	cuda_probe see           prints the devices, and computes on each; then the time, in seconds since 1970
//	cuda_probe alloc MIB     allocates that much memory
//	cuda_probe fault|trap    stores to an address that is not mapped (Xid 31), or traps (Xid 43)
//	cuda_probe hold SECONDS  keeps a context
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void store_to(int *p)
{
	*p = 1;
}

__global__ void run_trap()
{
	asm volatile("trap;");
}

static int fail(const char *what, cudaError_t e)
{
	printf("%s: %s\n", what, cudaGetErrorString(e));
	return 1;
}

static int compute()
{
	const int n = 1 << 20;
	float *a, *b, *c;
	cudaError_t e;

	if ((e = cudaMallocManaged(&a, n * sizeof(*a))) || (e = cudaMallocManaged(&b, n * sizeof(*b))) ||
	    (e = cudaMallocManaged(&c, n * sizeof(*c))))
		return fail("alloc", e);
	for (int i = 0; i < n; i++)
		a[i] = (float)i, b[i] = 2;
	add<<<(n + 255) / 256, 256>>>(a, b, c, n);
	if ((e = cudaDeviceSynchronize()))
		return fail("compute", e);
	for (int i = 0; i < n; i++)
		if (c[i] != a[i] + 2)
			return printf("wrong sum\n"), 1;
	return 0;
}

static int see()
{
	int n = 0;
	cudaError_t e = cudaGetDeviceCount(&n);

	if (e)
		return fail("count", e);
	printf("devices=%d", n);
	for (int i = 0; i < n; i++) {
		cudaDeviceProp p;

		cudaSetDevice(i);
		if ((e = cudaGetDeviceProperties(&p, i)))
			return fail("properties", e);
		printf(" [%s sms=%d mib=%zu]", p.name, p.multiProcessorCount, p.totalGlobalMem >> 20);
		if (compute())
			return 1;
	}
	timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	printf(" computed at=%lld.%03ld\n", (long long)now.tv_sec, now.tv_nsec / 1000000);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "see";
	size_t number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	cudaError_t e;
	void *p;

	if (!strcmp(verb, "see"))
		return see();
	if (!strcmp(verb, "alloc")) {
		if ((e = cudaMalloc(&p, number << 20)))
			return fail("alloc", e);
		return printf("allocated %zu MiB\n", number), 0;
	}
	if ((e = cudaFree(0)))
		return fail("context", e);
	if (!strcmp(verb, "hold")) {
		printf("holding\n");
		fflush(stdout);
		return (int)sleep((unsigned)number);
	}
	if (!strcmp(verb, "fault"))
		store_to<<<1, 1>>>((int *)0x1000);
	else
		run_trap<<<1, 1>>>();
	e = cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(e));
	return e ? 3 : 0;
}
