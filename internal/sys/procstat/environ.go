package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// BootID returns the id of this boot.
func BootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("cannot tell which boot this is: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Carries says whether a process has this very entry in its environment. No other
// entry of anyone's is looked at; other users' cannot be read. We ourselves never count.
func Carries(pid int, entry string) bool {
	if pid == os.Getpid() {
		return false
	}
	env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // none when it cannot be read
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}
