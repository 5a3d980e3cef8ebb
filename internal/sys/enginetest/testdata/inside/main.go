// Command inside is what runs in the containers of tests: it is all that their
// image holds.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	switch word := os.Args[1]; word {
	case "run":
		run()
	case "exit":
		n, _ := strconv.Atoi(os.Args[2])
		os.Exit(n)
	case "hog":
		hog()
	case "check":
		check()
	default: // fail-once, hog-once, sick-once: only in its first run
		first := isFirst()
		switch {
		case first && word == "fail-once":
			os.Exit(3)
		case first && word == "hog-once":
			hog()
		case first && word == "sick-once":
			_ = os.WriteFile("/sick", nil, 0o600)
		case word == "sick-once":
			_ = os.Remove("/sick")
		}
		run()
	}
}

// run waits to be ended.
func run() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}

func isFirst() bool {
	f, err := os.OpenFile("/ran", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// hog takes memory until the kernel ends it.
func hog() {
	var held [][]byte
	for {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		held = append(held, b)
		if len(held) > 4096 {
			time.Sleep(time.Hour) // there is no limit: this is no place to take more
		}
	}
}

// check is a health check.
func check() {
	if _, err := os.Stat("/sick"); err == nil {
		fmt.Println("the queue is stuck; password=hunter2secret")
		os.Exit(1)
	}
	fmt.Println("all is well")
}
