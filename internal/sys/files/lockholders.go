package files

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// LockHolders lists the processes that hold a lock for writing on a file, as the
// kernel lists them: what the file says, anybody may have written. By the number of
// its inode alone: the device is told in another way on some file systems.
func LockHolders(name string) (pids []int, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	list, err := os.Open("/proc/locks")
	if err != nil {
		return nil, fmt.Errorf("cannot tell who holds %s: %w", name, err)
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// 7: FLOCK ADVISORY WRITE 4242 fe:00:10125754 0 EOF
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" || !strings.HasSuffix(f[5], ":"+inode) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
