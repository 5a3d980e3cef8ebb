package shim

import "syscall"

// SayAskedWithoutRoom is SayAsked on a disk that has room for no byte, but for an empty file.
func SayAskedWithoutRoom(dir, by string, person bool) error {
	return sayAsked(func(path, text string) error {
		if text != "" {
			return syscall.ENOSPC
		}
		return write(path, text)
	}, dir, by, person)
}
