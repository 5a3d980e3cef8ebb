package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const subject = "custos.ask.b.a"

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// people are a hub with two hosts, and one of another hub.
type people struct {
	keys          Keys
	a, b, foreign Identity
}

func newPeople(t testing.TB) (p people) {
	t.Helper()
	p.keys = newKeys(t)
	p.a, p.b, p.foreign = newHost(t, p.keys, "a"), newHost(t, p.keys, "b"), newHost(t, newKeys(t), "a")
	return p
}

func newKeys(t testing.TB) Keys {
	t.Helper()
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newHost(t testing.TB, k Keys, name string) Identity {
	t.Helper()
	id, err := ReadIdentity(newCreds(t, k, name))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newCreds(t testing.TB, k Keys, name string) []byte {
	t.Helper()
	p, err := NewPair()
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.HostUser(name, p.Public())
	if err != nil {
		t.Fatal(err)
	}
	creds, err := p.Creds(text)
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

func (p people) trust() Trust { return Trust{Account: p.keys.Account(), MaxSkew: time.Second} }

func sign(t testing.TB, by Identity, body string) Envelope {
	t.Helper()
	e, err := Sign(by, subject, []byte(body), noon, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What was signed, written and read is of its host; when it is not counts too.
func TestEnvelope(t *testing.T) {
	p := newPeople(t)
	text, err := sign(t, p.a, "do it").Encode()
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{"), []byte(`{"later":["what","ever"],`), 1)
	e, err := DecodeEnvelope(text)
	if err != nil || string(e.Body) != "do it" {
		t.Fatal(e, err)
	}
	revoked := func(is string) func(string) bool { return func(key string) bool { return key == is } }
	joining := joinIdentity(t, p.keys)
	for name, c := range map[string]struct {
		trust   func(*Trust)
		subject string
		at      time.Duration
		want    error
	}{
		"it counts":                {},
		"another subject":          {subject: subject + "1", want: ErrForged},
		"just before it is issued": {at: -time.Second},
		"before it is issued":      {at: -time.Second - time.Millisecond, want: ErrNotYet},
		"just before it ends":      {at: time.Minute + time.Second - time.Millisecond},
		"when it has ended":        {at: time.Minute + time.Second, want: ErrExpired},
		"another hub":              {trust: func(t *Trust) { t.Account = newKeys2().Account() }, want: ErrStranger},
		"no hub":                   {trust: func(t *Trust) { t.Account = "" }, want: ErrStranger},
		"revoked":                  {trust: func(t *Trust) { t.Revoked = revoked(p.a.Key()) }, want: ErrRevoked},
		"another is revoked":       {trust: func(t *Trust) { t.Revoked = revoked(p.b.Key()) }},
	} {
		trust := p.trust()
		if c.trust != nil {
			c.trust(&trust)
		}
		if c.subject == "" {
			c.subject = subject
		}
		host, err := trust.Verify(e, c.subject, noon.Add(c.at))
		if !errors.Is(err, c.want) || (err == nil) != (host == "a") {
			t.Errorf("%s: host %q, %v", name, host, err)
		}
	}
	if _, err := Sign(joining, subject, nil, noon, time.Minute); err == nil {
		t.Error("one that only joins may sign")
	}
}

func newKeys2() Keys {
	k, err := NewKeys()
	if err != nil {
		panic(err)
	}
	return k
}

// joinIdentity are the credentials of a token, read as those of a host: that fails.
func joinIdentity(t *testing.T, k Keys) Identity {
	t.Helper()
	token, err := k.NewToken(Offer{Invite: NewInvite(), Host: "a", Expires: noon})
	if err != nil {
		t.Fatal(err)
	}
	id, err := ReadIdentity(token.Creds)
	if err == nil {
		t.Error("one that only joins is a host")
	}
	return id
}

// Nothing of an envelope can be changed: what is not as it was signed is of nobody, or of whoever has
// signed it as a whole.
func TestTamperedEnvelopes(t *testing.T) {
	p := newPeople(t)
	rapid.Check(t, func(r *rapid.T) {
		e := sign(t, p.a, rapid.StringN(0, 40, -1).Draw(r, "body"))
		other := sign(t, rapid.SampledFrom([]Identity{p.a, p.b, p.foreign}).Draw(r, "other"), "other")
		was := e
		change := rapid.SampledFrom([]string{"jwt", "id", "issued", "expires", "body", "sig", "sig bit", "body byte", "id bit"}).Draw(r, "change")
		switch at := rapid.IntRange(0, 1<<16).Draw(r, "at"); change {
		case "jwt":
			e.JWT = other.JWT
		case "id":
			e.ID = other.ID
		case "issued":
			e.Issued = e.Issued.Add(time.Duration(rapid.IntRange(-500, 500).Draw(r, "ms")) * time.Millisecond)
		case "expires":
			e.Expires = e.Expires.Add(time.Duration(rapid.IntRange(-500, 500).Draw(r, "ms")) * time.Millisecond)
		case "body":
			e.Body = other.Body
		case "body byte":
			e.Body = slices.Insert(slices.Clone(e.Body), at%(len(e.Body)+1), byte(at))
		case "sig":
			e.Sig = other.Sig
		case "sig bit":
			e.Sig = flip(e.Sig, at)
		case "id bit":
			e.ID = flip(e.ID, at)
		}
		same, _ := json.Marshal(was)
		now, _ := json.Marshal(e)
		host, err := p.trust().Verify(e, subject, noon)
		if bytes.Equal(same, now) != (err == nil) || err != nil && host != "" {
			r.Fatalf("with another %s it is of %q: %v", change, host, err)
		}
	})
}

func flip(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at/8%len(b)] ^= 1 << (at % 8)
	return b
}

func TestDecodeEnvelope(t *testing.T) {
	p := newPeople(t)
	for want, change := range map[string]func(*Envelope){
		"it comes from a newer Custos":   func(e *Envelope) { e.Version = newestEnvelope + 1 },
		"which is not understood":        func(e *Envelope) { e.Version = oldestEnvelope - 1 },
		"no id of 16 bytes":              func(e *Envelope) { e.ID = e.ID[:15] },
		"this envelope is good from":     func(e *Envelope) { e.Expires = e.Issued },
		"is good from 2026-11-29T12:00:": func(e *Envelope) { e.Expires = e.Issued.Add(MaxTTL + time.Millisecond) },
		"finer than what is signed":      func(e *Envelope) { e.Issued = e.Issued.Add(time.Microsecond) },
		"bytes: 2097152 are the most":    func(e *Envelope) { e.Body = make([]byte, mostEnvelope) },
	} {
		e := sign(t, p.a, "do it")
		change(&e)
		text, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeEnvelope(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, err := p.trust().Verify(e, subject, noon); err == nil {
			t.Errorf("%s: and it counts", want)
		}
	}
	if _, err := Sign(p.a, subject, nil, noon, MaxTTL+1); err == nil {
		t.Error("it may be good for longer than it is kept")
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	p := newPeople(f)
	text, err := sign(f, p.a, "do it").Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"v":1,"id":"AAAAAAAAAAAAAAAAAAAAAA==","issued":"2026-01-01T00:00:00Z","expires":"2026-01-01T00:00:01Z"}`))
	f.Add([]byte(`{}`))
	stranger := Trust{Account: newKeys(f).Account(), MaxSkew: time.Hour}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := DecodeEnvelope(text)
		if err != nil {
			return
		}
		if _, err := stranger.Verify(e, subject, noon); err == nil {
			t.Error("it counts for a stranger")
		}
		again, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		e2, err := DecodeEnvelope(again)
		if err != nil || !bytes.Equal(e2.signed(subject), e.signed(subject)) {
			t.Errorf("read again it is another: %v", err)
		}
	})
}

// An envelope is heeded once; a host that sends too many harms nobody else.
func TestSeen(t *testing.T) {
	p := newPeople(t)
	s := NewSeen(3)
	first := sign(t, p.a, "1")
	for i, want := range []error{nil, ErrReplayed} {
		if err := s.First("a", first, noon, time.Second); !errors.Is(err, want) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := errors.Join(s.First("a", sign(t, p.a, "2"), noon, time.Second), s.First("a", sign(t, p.a, "3"), noon, time.Second)); err != nil {
		t.Error(err)
	}
	if err := s.First("a", sign(t, p.a, "4"), noon, time.Second); !errors.Is(err, ErrFull) {
		t.Errorf("the fourth: %v", err)
	}
	if err := s.First("b", sign(t, p.b, "1"), noon, time.Second); err != nil {
		t.Errorf("another host: %v", err)
	}
	if err := s.First("a", first, noon.Add(time.Minute+time.Second), time.Second); !errors.Is(err, ErrReplayed) {
		t.Errorf("while it may pass: %v", err)
	}
	if err := s.First("a", sign(t, p.a, "4"), noon.Add(time.Minute+2*time.Second), time.Second); err != nil {
		t.Errorf("when others have expired: %v", err)
	}
}
