package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// usageCorpus are responses of many conversations of 40 agents, over 60 days.
func usageCorpus(n int) (list []fleet.Usage) {
	for i := range n {
		u := response(fmt.Sprintf("msg_%016x%08x:req_%016x", uint64(i)*0x9E3779B97F4A7C15, i, uint64(i)*0xBF58476D1CE4E5B9), time.Duration(-i)*35*time.Second, int64(i%7), int64(i%900))
		u.Session, u.Agent = fmt.Sprintf("9f1d2c3b-0000-4000-8000-%012d", i/50), fmt.Sprintf("agent-%d", i/50%40)
		u.Model = []string{"claude-opus-4-8", "gpt-5.3-codex", "claude-haiku-4-5"}[i/50%3]
		u.CWD, u.Project = "/home/ann/src/project-"+u.Agent, "project"
		u.Tokens.CacheRead, u.Tokens.CacheWrite5m = int64(i%150_000), int64(i%3000)
		list = append(list, u)
	}
	return list
}

func openedBench(b *testing.B) *Store {
	b.Helper()
	s, err := Open(context.Background(), Options{Path: filepath.Join(b.TempDir(), "b.db"), StartedAt: at(0), Now: func() time.Time { return epoch }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkAddUsageCold writes 150 000 responses into an empty database, in the order in which transcripts are read:
// those that are written together by their keys.
func BenchmarkAddUsageCold(b *testing.B) {
	list := usageCorpus(150_000)
	for some := range slices.Chunk(list, usageBatch) {
		slices.SortFunc(some, func(a, b fleet.Usage) int { return strings.Compare(a.Key, b.Key) })
	}
	for b.Loop() {
		s := openedBench(b)
		if err := s.AddUsage(context.Background(), list, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAddUsageAgain reads them all again.
func BenchmarkAddUsageAgain(b *testing.B) {
	list, s := usageCorpus(150_000), openedBench(b)
	if err := s.AddUsage(context.Background(), list, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.AddUsage(context.Background(), list, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAddUsageOne adds one response, with its cursor, to 150 000.
func BenchmarkAddUsageOne(b *testing.B) {
	list, s := usageCorpus(150_000), openedBench(b)
	if err := s.AddUsage(context.Background(), list, nil); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		u := list[i%len(list)]
		u.Key = fmt.Sprint("claude:new", i)
		if err := s.AddUsage(context.Background(), []fleet.Usage{u}, []fleet.UsageCursor{{Path: "/a", Inode: 1, Offset: int64(i)}}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkCosts adds up 150 000 responses of 60 days.
func BenchmarkCosts(b *testing.B) {
	list, s := usageCorpus(150_000), openedBench(b)
	if err := s.AddUsage(context.Background(), list, nil); err != nil {
		b.Fatal(err)
	}
	for _, by := range []string{"agent", "session", "day"} {
		b.Run(by, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Costs(context.Background(), at(-59*24*time.Hour), by); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
