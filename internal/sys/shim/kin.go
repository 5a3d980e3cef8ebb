package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Kin is what the records say of who belongs to an agent: to one of its instances, or
// to those before it, too.
type Kin struct {
	Markers []string // environment entries of what they started
	Shims   []ID     // that take in whatever they let go of
	Left    []ID     // what outlived them, as their shims last listed it
	Others  []ID     // shims of any other instance: nothing below those belongs here
}

// Former says of which instances of an agent the kin is asked.
type Former bool

// OfAll is the instance and all that began before it; OfOne is the instance alone.
const (
	OfAll Former = true
	OfOne Former = false
)

// ReadKin reads who belongs to an instance of an agent, within one boot. Where a record
// cannot be read, its error says so, and no shims are named: whose what lives below them
// is could not be told.
func ReadKin(root, name, instance, boot string, former Former) (Kin, error) {
	k := Kin{Markers: []string{Marker + "=" + name + ":" + instance}}
	claims, err := readClaims(root, boot)
	self := claims[instance]
	for key, c := range claims {
		older := bool(former) && c.Name == name && self.Key != "" && c.At.Up < self.At.Up
		if key != instance && !older {
			k.Others = append(k.Others, c.Shim)
			continue
		}
		k.Markers, k.Shims = append(k.Markers, Marker+"="+name+":"+key), append(k.Shims, c.Shim)
		left, why := ReadLeft(Dir(root, key))
		err = errors.Join(err, why)
		for _, l := range left {
			k.Left = append(k.Left, l.ID)
		}
	}
	if err != nil {
		k.Shims = nil
		err = fmt.Errorf("cannot tell all that %s left: %w", name, err)
	}
	return k, err
}

// readClaims returns the instances that shims have claimed in a boot, by their keys.
func readClaims(root, boot string) (map[string]Claim, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	claims, errs := map[string]Claim{}, []error{}
	for _, e := range entries {
		if !e.IsDir() || !IsKey(e.Name()) {
			continue
		}
		c, err := claimOf(Dir(root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // no shim has begun there
		case err != nil:
			errs = append(errs, err)
		case c.Shim.PID > 1 && c.At.Boot == boot:
			claims[c.Key] = c
		}
	}
	return claims, errors.Join(errs...)
}

// claimOf reads a claim; of a shim that wrote no name there, what it started tells it.
func claimOf(dir string) (Claim, error) {
	c, err := ReadClaim(dir)
	if err != nil || c.Name != "" || c.Shim.PID == 0 {
		return c, err
	}
	if s, _, err := Read(dir); err == nil {
		c.Name = s.Name
	}
	return c, nil
}
