package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// thorough is how many beats are between two looks at whether all rows are in the bucket.
const thorough = 6

// often is how many beats are between two looks at whether the bucket is still the same.
const often = 3

// beats writes heads, and looks whether the bucket is still the one that was written to.
func (p *Publisher) beats(ctx context.Context) {
	reconnects := uint64(0)
	for seq := int64(1); ctx.Err() == nil; seq++ {
		if n := p.js.Conn().Stats().Reconnects; n != reconnects { // what was written last may be lost
			reconnects, p.head = n, 0
			p.stale.Store(true)
			p.wake()
		}
		if err := p.beat(ctx, seq); err != nil && ctx.Err() == nil {
			p.Counts.Failed.Add(1)
			p.Log.Debug("a head is not told", "err", err)
		}
		pause(ctx, nil, p.Beat)
	}
}

func (p *Publisher) beat(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithTimeout(ctx, p.Beat)
	defer cancel()
	if err := p.writeHead(ctx, seq); err != nil {
		p.Late()
		return fmt.Errorf("cannot write a head: %w", err)
	}
	if seq%often != 0 {
		return nil
	}
	return p.look(ctx, seq%thorough == 0)
}

func (p *Publisher) writeHead(ctx context.Context, seq int64) error {
	b, err := json.Marshal(head{V: 1, Run: p.PublisherOptions.Run, Seq: seq, At: p.Now(), Rows: int(p.told.Load())})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, min(p.Beat, late))
	defer cancel()
	if err := p.putHead(ctx, b); err != nil {
		return err
	}
	p.Counts.Heads.Add(1)
	p.Counts.Bytes.Add(int64(len(p.subject(headKey)) + len(b)))
	return nil
}

// putHead writes a head upon the one before. Where there is a later one, somebody else tells under this name, and this
// one is written all the same. After any other error it is not known which is the one before.
func (p *Publisher) putHead(ctx context.Context, b []byte) error {
	var upon []jetstream.PublishOpt
	if p.head > 0 {
		upon = append(upon, jetstream.WithExpectLastSequencePerSubject(p.head))
	}
	ack, err := p.js.Publish(ctx, p.subject(headKey), b, upon...)
	if last, is := another(err); is {
		p.sawAnother(last > p.head && p.isAnothers(ctx)) // a bucket that was lost has none, or an earlier one
		ack, err = p.js.Publish(ctx, p.subject(headKey), b)
	}
	if p.head = 0; err == nil {
		p.head = ack.Sequence
	}
	return err
}

// isAnothers says whether the head that is in the bucket is of another daemon: one of ours may have been on its way for long.
func (p *Publisher) isAnothers(ctx context.Context) bool {
	kv, err := p.js.KeyValue(ctx, Bucket)
	if err != nil {
		return false
	}
	e, err := kv.Get(ctx, p.Host+"."+headKey)
	var is head
	return err == nil && json.Unmarshal(e.Value(), &is) == nil && is.Run != p.PublisherOptions.Run
}

// another is the number of the last message where that is another one than was said.
func another(err error) (last uint64, is bool) {
	var refused *jetstream.APIError
	if !errors.As(err, &refused) || refused.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
		return 0, false
	}
	_, _ = fmt.Sscanf(refused.Description, "wrong last sequence: %d", &last) // nats-server v2.15.2, NewJSStreamWrongLastSequenceError
	return last, true
}

// look finds out whether the bucket was made anew; with all, which rows it has.
func (p *Publisher) look(ctx context.Context, all bool) error {
	made, err := p.made(ctx)
	if err != nil {
		return err
	}
	if was := p.created.Load(); was != 0 && was != made {
		p.stale.Store(true)
		p.wake()
		return nil
	}
	if !all {
		return nil
	}
	keys, err := p.keys(ctx)
	if err != nil {
		return err
	}
	select {
	case p.missed <- keys:
	default:
	}
	p.wake()
	return nil
}

// made is when the bucket was made.
func (p *Publisher) made(ctx context.Context) (int64, error) {
	s, err := p.js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("cannot find the bucket %s: %w", Bucket, err)
	}
	info := s.CachedInfo()
	p.heed(info.Cluster)
	return info.Created.UnixNano(), nil
}

// keys are those of this host that are in the bucket, or have been removed lately.
func (p *Publisher) keys(ctx context.Context) ([]string, error) {
	s, err := p.js.Stream(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("cannot find the bucket %s: %w", Bucket, err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(p.subject(">")))
	if err != nil {
		return nil, fmt.Errorf("cannot look at the bucket %s: %w", Bucket, err)
	}
	return slices.Collect(maps.Keys(info.State.Subjects)), nil
}

// compare has the bucket be read where a row is missing that was written before it was looked, which
// takes a beat at most. Where that is wrong, it is read once too often.
func (p *Publisher) compare() {
	select {
	case keys := <-p.missed:
		there := map[string]bool{}
		for _, key := range keys {
			there[strings.TrimPrefix(key, p.subject(""))] = true
		}
		for key := range p.believed.rows {
			if !there[key] && time.Since(p.believed.at[key]) > 2*p.Beat {
				p.stale.Store(true)
			}
		}
	default:
	}
}
