/* See pipe.h. */
#include "base/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"

int pipe_make(int ret_ends[2], size_t bytes, struct error *err)
{
	if (pipe2(ret_ends, O_CLOEXEC) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pipe");
	(void)fcntl(ret_ends[0], F_SETPIPE_SZ, (int)bytes);
	(void)fcntl(ret_ends[0], F_SETFL, O_NONBLOCK);
	return 0;
}

void pipe_read(int fd, struct buf *text)
{
	char piece[16 * KIB];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && buf_add(text, piece, (size_t)n) < 0)
			return;
}

void pipe_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

struct str pipe_last_line(struct str text)
{
	struct str line = STR_NULL, piece;

	while (text.n > 0 && str_split(&text, '\n', &piece))
		if (str_trim(piece).n > 0)
			line = str_trim(piece);
	return line;
}
