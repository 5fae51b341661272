/* Read from /proc, where containers see the machine's ID as well. */
#include "base/system/boot.h"

#include "base/core/limits.h"
#include "base/system/file.h"

char *boot_id(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	(void)file_read("/proc/sys/kernel/random/boot_id", &text, NULL);
	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	return str_dup(buf_str(&text));
}
