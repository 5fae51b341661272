/*
 * cuda - a library with the SONAME libcuda.so.1, for tests of mounts into containers.
 */
int cuInit(unsigned int flags);

/* CUDA_ERROR_NO_DEVICE: there is no GPU to use. */
int cuInit(unsigned int flags)
{
	(void)flags;
	return 100;
}
