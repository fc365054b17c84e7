/*
 * The dialogue on /dev/tty.  Runs in the commands, as the user.  Whatever is
 * not plainly a yes is a no.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "tty.h"

int
tty_open(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd != -1 && !isatty(fd)) {
		close(fd);
		fd = -1;
		errno = ENOTTY;
	}
	return fd;
}

int
tty_put(int fd, const char *p, size_t len)
{
	ssize_t w;

	while (len > 0) {
		w = write(fd, p, len);
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		p += w;
		len -= (size_t)w;
	}
	return 0;
}

/* A line without its newline; -1 at the end, or if it does not fit. */
static int
read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	ssize_t r;
	char c;

	for (;;) {
		r = read(fd, &c, 1);
		if (r == -1 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		if (c == '\n')
			break;
		if (n < size)
			line[n] = c;
		n = c == '\0' ? size : n + (n < size);
	}
	if (n >= size)
		return -1;
	line[n] = '\0';
	return 0;
}

int
tty_ask(int fd, const char *question)
{
	char line[16];

	if (tcflush(fd, TCIFLUSH) == -1 ||
	    tty_put(fd, question, strlen(question)) == -1 ||
	    read_line(fd, line, sizeof(line)) == -1)
		return 0;
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}
