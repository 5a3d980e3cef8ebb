package hookwire

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// LongWait is how long a hook waits for an answer that it was told to wait for.
const LongWait = time.Second

// Send posts an event and waits for the answer, both within wait. It makes the
// system calls itself: package net costs a hook a third of its time.
func Send(socket string, p Post, wait time.Duration) (Ack, error) {
	ack, err := send(socket, p, time.Now().Add(wait))
	if err != nil {
		return Ack{}, fmt.Errorf("cannot post to %s: %w", socket, err)
	}
	return ack, nil
}

func send(path string, p Post, until time.Time) (Ack, error) {
	fd, err := socket()
	if err != nil {
		return Ack{}, err
	}
	defer syscall.Close(fd)
	c := &conn{fd: fd, until: until}
	// A connection to a listener whose queue is full waits as a write does.
	if err := c.arm(syscall.SO_SNDTIMEO); err != nil {
		return Ack{}, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return Ack{}, err
	}
	if err := WritePost(c, p); err != nil {
		return Ack{}, err
	}
	ack, err := ReadAck(c)
	if err == nil && ack.Wait && ack.ID == p.ID {
		c.until = time.Now().Add(LongWait)
		ack, err = ReadAck(c)
	}
	switch {
	case err != nil:
		return Ack{}, err
	case ack.ID != p.ID:
		return Ack{}, errors.New("the answer is for another event")
	case !ack.OK:
		return Ack{}, errors.New("refused: " + ack.Why)
	}
	return ack, nil
}

// conn reads and writes a socket until a moment.
type conn struct {
	fd    int
	until time.Time
}

var errLate = errors.New("no answer came in time")

// arm gives the next call on the socket the time that is left.
func (c *conn) arm(option int) error {
	left := time.Until(c.until)
	if left <= 0 {
		return errLate
	}
	tv := syscall.NsecToTimeval(max(left, time.Microsecond).Nanoseconds()) // zero would be for ever
	return syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, option, &tv)
}

func (c *conn) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if err := c.arm(syscall.SO_SNDTIMEO); err != nil {
			return n, err
		}
		m, err := retry(func() (int, error) {
			return syscall.SendmsgN(c.fd, b[n:], nil, nil, noSignal)
		})
		if err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

func (c *conn) Read(b []byte) (int, error) {
	if err := c.arm(syscall.SO_RCVTIMEO); err != nil {
		return 0, err
	}
	n, err := retry(func() (int, error) { return syscall.Read(c.fd, b) })
	if err == nil && n == 0 {
		return 0, errors.New("the connection was closed")
	}
	return n, err
}

// retry repeats a call that a signal interrupted; a time-out is errLate.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, errLate
		default:
			return max(n, 0), err
		}
	}
}
