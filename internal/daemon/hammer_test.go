package daemon_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/store"
)

// TestHammer has two processes write mail and gates as fast as they can, to one
// Custos that is killed twice meanwhile; what was not answered is asked again with
// the same key. Both close the same gates. Nothing is lost, and nothing doubled.
// CUSTOS_HAMMER_FOR sets how long (5 s; a minute in `make town`).
func TestHammer(t *testing.T) {
	lasts, err := time.ParseDuration(orElse(os.Getenv("CUSTOS_HAMMER_FOR"), "5s"))
	if err != nil {
		t.Fatal(err)
	}
	w := newTown(t, "")
	w.enlist("amy")
	w.enlist("bob")
	var hammers []*exec.Cmd
	var said [2]strings.Builder
	for i := range 2 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "CUSTOS_HAMMER="+strconv.Itoa(i), "CUSTOS_HAMMER_SOCKET="+daemon.Socket(w.cfg), "CUSTOS_HAMMER_FOR="+lasts.String())
		cmd.Stdout, cmd.Stderr = &said[i], &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hammers = append(hammers, cmd)
	}
	for range 2 {
		<-time.After(lasts / 3) // real processes, in real time
		w.kill()
		w.start()
	}
	for i, cmd := range hammers {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("hammer %d: %v\n%s", i, err, &said[i])
		}
	}
	w.awaitSettled()
	w.kill()
	w.checkHammered(hammered(t, said[0].String()), hammered(t, said[1].String()))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// strokes is what one hammer was told to be done.
type strokes struct {
	Mails, Gates, Closed int
}

func hammered(t *testing.T, said string) (s strokes) {
	t.Helper()
	if err := json.Unmarshal([]byte(said), &s); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return s
}

// hammer is one of the two processes.
func hammer(id string) int {
	lasts, _ := time.ParseDuration(os.Getenv("CUSTOS_HAMMER_FOR"))
	ctx, stop := context.WithTimeout(context.Background(), lasts+time.Minute)
	defer stop()
	h := &hammerer{ctx: ctx, socket: os.Getenv("CUSTOS_HAMMER_SOCKET"), id: id}
	for begun, n := time.Now(), 0; time.Since(begun) < lasts; n++ {
		h.stroke(n)
	}
	_ = json.NewEncoder(os.Stdout).Encode(h.done)
	return h.failed
}

type hammerer struct {
	ctx    context.Context
	socket string
	id     string
	done   strokes
	failed int
}

// stroke writes a mail, and at times makes a gate and closes one that the other
// closes too.
func (h *hammerer) stroke(n int) {
	h.until(func(c *api.Client) error {
		_, err := c.SendMail(h.ctx, api.MailRequest{Key: fmt.Sprintf("mail-%s-%d", h.id, n), To: []string{"amy", "bob"}, Subject: fmt.Sprintf("%s %d", h.id, n)})
		return err
	})
	h.done.Mails++
	if n%5 > 0 {
		return
	}
	var g api.Gate
	h.until(func(c *api.Client) (err error) {
		g, err = c.AddGate(h.ctx, api.GateRequest{Key: fmt.Sprintf("gate-%d", n), Type: "human", Title: fmt.Sprint("gate ", n), Waiters: []string{"amy", "bob"}})
		return err
	})
	h.done.Gates++
	h.until(func(c *api.Client) error {
		_, err := c.CloseGate(h.ctx, g.ID, api.GateClosing{As: "passed", Why: "as " + h.id + " says"})
		return err
	})
	h.done.Closed++
}

// until asks again until it is answered: a Custos that was killed comes back.
func (h *hammerer) until(ask func(*api.Client) error) {
	for h.ctx.Err() == nil {
		c, err := api.Dial(h.ctx, h.socket)
		if err == nil {
			err = ask(c)
			c.Close()
		}
		var refused *api.Error
		switch {
		case err == nil:
			return
		case errors.As(err, &refused) && (refused.Kind == api.BadInput || refused.Kind == api.NotFound || refused.Kind == api.Forbidden):
			fmt.Fprintln(os.Stderr, err)
			h.failed = 1
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	h.failed = 1
}

// enlist writes an agent down that runs nowhere: mail to it waits.
func (w *town) enlist(name string) {
	w.Helper()
	w.kill()
	st, err := store.Open(w.Context(), store.Options{Path: filepath.Join(w.cfg.StateDir, "custos.db")})
	if err != nil {
		w.Fatal(err)
	}
	r := fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerAdopted, Where: fleet.WhereHeadless, Restart: fleet.RestartNever, Desired: fleet.DesiredRunning}
	_, err = st.Register(w.Context(), r, fleet.Instant{Wall: time.Now()})
	if err = errors.Join(err, st.Close()); err != nil {
		w.Fatal(err)
	}
	w.start()
}

// awaitSettled waits until a pass has sorted every mail.
func (w *town) awaitSettled() {
	w.Helper()
	await(w.T, w.said.String, func() bool {
		list, err := w.client().Gates(w.Context(), true)
		return err == nil && !slices.ContainsFunc(list.Gates, func(g api.Gate) bool { return g.State == "open" })
	})
}

// checkHammered counts what is in the database.
func (w *town) checkHammered(a, b strokes) {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.cfg.StateDir, "custos.db")+"?mode=ro")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	gates := max(a.Gates, b.Gates) // both made the same ones
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM mails WHERE key LIKE '%mail-_-%'":                                                  a.Mails + b.Mails,
		"SELECT COUNT(DISTINCT json ->> 'subject') FROM mails WHERE key LIKE '%mail-_-%'":                        a.Mails + b.Mails,
		"SELECT COUNT(*) FROM gates":                                                                             gates,
		"SELECT COUNT(*) FROM gates WHERE json ->> 'state' = 'closed'":                                           gates,
		"SELECT COUNT(*) FROM mails WHERE key LIKE 'gate/%'":                                                     2 * gates,
		"SELECT COALESCE(SUM(json_array_length(json, '$.copies')), 0) / 2 FROM mails WHERE key LIKE '%mail-_-%'": a.Mails + b.Mails,
		"SELECT COUNT(*) FROM set_aside":                                                                         0,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
			w.Errorf("%s: %d, want %d (%v)", query, n, want, err)
		}
	}
	w.Logf("%d mails, %d gates", a.Mails+b.Mails, gates)
	if a.Mails < 20 || b.Mails < 20 || gates < 4 {
		w.Errorf("too tame: %+v and %+v", a, b)
	}
}
