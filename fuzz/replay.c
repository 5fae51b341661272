/*
 * Runs a fuzz target over the files and folders given, without libFuzzer: the
 * corpus of each target is a unit test of every ordinary build.
 */
#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);
	FILE *f = fopen(path, "rb");
	char piece[4096];
	size_t n;

	if (!f) {
		perror(path);
		return -1;
	}
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		(void)buf_add(&b, piece, n);
	(void)fclose(f);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)(b.p ? b.p : ""), b.n);
	return 1;
}

static int run_path(const char *path)
{
	struct stat st;
	struct dirent *e;
	int total = 0, r;
	char sub[4096];
	DIR *d;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return run_file(path);
	d = opendir(path);
	if (!d) {
		perror(path);
		return -1;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		r = run_path(sub);
		if (r < 0) {
			(void)closedir(d);
			return -1;
		}
		total += r;
	}
	(void)closedir(d);
	return total;
}

int main(int argc, char **argv)
{
	int total = 0, r;

	for (int i = 1; i < argc; i++) {
		r = run_path(argv[i]);
		if (r < 0)
			return 1;
		total += r;
	}
	(void)printf("%d inputs\n", total);
	return total > 0 ? 0 : 1;
}
