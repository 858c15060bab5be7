"""One tick of 0.1 s. All phases read positions and lives as they were when the tick began; all damage is dealt at its end."""

from __future__ import annotations

from collections import defaultdict

from tests.clash_reference import movement
from tests.clash_reference.objects import Area, Player, Projectile, Spell, Unit
from tests.clash_reference.tables import (
    BARREL_DEPLOY_TICKS,
    BARREL_RADIUS,
    NUM_TOWERS,
    SLACK,
    UnitType,
    distance,
    formation,
    travel_ticks,
    turn,
)

NONE_KNOCKED = (0, 0)


class Tick:
    """The working of one tick, phase by phase as the rules number them."""

    def __init__(self, players: tuple[Player, Player], tick: int):
        self.players = players
        self.tick = tick
        self.units = [unit for player in players for _, unit in sorted(player.units.items())]
        self.enemies = [[unit for unit in self.units if unit.player != seat] for seat in (0, 1)]
        self.kept: set[Unit] = set()  # who stays with the target of the tick before
        self.changed: set[Unit] = set()
        self.attacking: set[Unit] = set()
        self.damage: defaultdict[Unit, int] = defaultdict(int)
        self.knocks: defaultdict[Unit, list[int]] = defaultdict(lambda: [0, 0])
        self.stuns: defaultdict[Unit, int] = defaultdict(int)
        self.slows: defaultdict[Unit, list[int]] = defaultdict(lambda: [0, 0])  # ticks, percent
        self.burnt: set[Unit] = set()  # kamikazes that fired
        self.landed_barrels: list[tuple[Player, Spell]] = []

    def run(self) -> None:
        """Steps 3 to 11; elixir, clock and end are the battle's."""
        self.choose_targets()
        self.fly_projectiles()
        self.land_spells()
        self.attack()
        resting = self.move()
        self.decay_buildings()
        dead = self.deal_damage()
        for unit in self.units:
            unit.x, unit.y = resting[unit]
        births = self.births(dead)
        for unit in self.units:
            self.grow_older(unit)
        for player, kind, slot, x, y, deploy_ticks in births:
            player.place(kind, slot, x, y, deploy_ticks)

    # 3. Targets

    def choose_targets(self) -> None:
        chosen = {unit: self.target_of(unit) for unit in self.units}
        for unit, target in chosen.items():
            if target is not unit.target:
                self.changed.add(unit)
            unit.target = target

    def target_of(self, unit: Unit) -> Unit | None:
        if not unit.acting:
            return None
        old = unit.target
        slack = SLACK if unit.cooldown < unit.type.windup_ticks else 0
        if old is not None and unit.may_hit(old) and unit.reaches(old, slack):
            self.kept.add(unit)
            return old
        nearest, least = None, 0
        for other in self.enemies[unit.player]:  # by slot: the first of equally near ones
            away = unit.squared_distance(other)
            if (nearest is None or away < least) and unit.may_hit(other) and self.notices(unit, other):
                nearest, least = other, away
        if nearest is None and unit.mobile:
            towers = self.players[1 - unit.player].towers
            return min(towers, key=lambda tower: (unit.squared_distance(tower), tower.slot), default=None)
        return nearest

    @staticmethod
    def notices(unit: Unit, other: Unit) -> bool:
        if not unit.mobile:
            return unit.reaches(other)
        return unit.within(other, max(unit.type.sight, unit.type.range))

    # 4. Projectiles

    def fly_projectiles(self) -> None:
        for player in self.players:
            for place, shot in list(player.projectiles.items()):
                if shot.type.homing and shot.target.alive:
                    shot.x, shot.y = shot.target.x, shot.target.y
                shot.ticks -= 1
                if shot.ticks == 0:
                    del player.projectiles[place]
                    self.explode(player, shot)

    def explode(self, player: Player, shot: Projectile) -> None:
        if shot.type.splash_radius:
            self.splash(player.seat, shot.type, shot.x, shot.y)
        elif shot.target.alive:
            self.hit(shot.type, shot.target)

    def splash(self, seat: int, kind: UnitType, x: int, y: int) -> None:
        area = Area(kind.splash_radius, kind.damage, hits_air=kind.splash_air, hits_ground=kind.splash_ground)
        for unit in self.units:
            if unit.player != seat and area.hits(unit, x, y):
                self.hit(kind, unit)

    def hit(self, kind: UnitType, unit: Unit) -> None:
        self.damage[unit] += kind.damage * kind.crown_damage_pct // 100 if unit.type.is_crown_tower else kind.damage
        self.hamper(unit, kind.stun_ticks, kind.slow_ticks, kind.slow_pct)

    def hamper(self, unit: Unit, stun_ticks: int, slow_ticks: int, slow_percent: int) -> None:
        """Notes stun and slow, which begin with the next tick; the longest and the strongest count."""
        self.stuns[unit] = max(self.stuns[unit], stun_ticks)
        ticks, percent = self.slows[unit]
        self.slows[unit] = [max(ticks, slow_ticks), max(percent, slow_percent)]

    # 5. Spells

    def land_spells(self) -> None:
        for player in self.players:
            for index, spell in enumerate(player.spells):
                if spell is None:
                    continue
                spell.ticks -= 1
                if spell.ticks == 0:
                    self.strike(player, spell)
                    spell.waves -= 1
                    if spell.waves > 0 and spell.card is not None:
                        spell.ticks = spell.card.wave_interval_ticks
                    else:
                        player.spells[index] = None

    def strike(self, player: Player, spell: Spell) -> None:
        if spell.card is not None and spell.card.spawn_id >= 0:
            self.landed_barrels.append((player, spell))
            return
        for unit in self.units:
            if unit.player != player.seat and spell.area.hits(unit, spell.x, spell.y):
                length = distance(unit.x, unit.y, spell.x, spell.y)
                dx, dy = spell.area.displacement(unit, spell.x, spell.y, length)
                self.knocks[unit][0] += dx
                self.knocks[unit][1] += dy
                self.damage[unit] += spell.area.damage_to(unit)
                self.hamper(unit, spell.area.stun_ticks, spell.area.slow_ticks, spell.area.slow_pct)

    # 6. Attacks

    def attack(self) -> None:
        for unit in self.units:
            if unit.stun > 0:
                unit.cooldown = unit.type.hit_ticks
                continue
            target = unit.target
            passed = self.time_passed(unit)
            if unit.acting and target is not None and (unit in self.kept or unit.reaches(target)):
                self.attacking.add(unit)
                if unit in self.changed:
                    unit.cooldown = max(unit.cooldown, unit.type.windup_ticks)
                unit.cooldown -= passed
                if unit.cooldown <= 0:
                    self.fire(unit, target)
                    unit.cooldown = unit.type.hit_ticks
            else:
                unit.cooldown = max(unit.cooldown - passed, unit.type.windup_ticks)

    def time_passed(self, unit: Unit) -> int:
        """1, or 0 in the ticks that a slowed unit loses."""
        rest = 100 - unit.slow_percent
        return min(1, self.tick * rest // 100 - (self.tick - 1) * rest // 100)

    def fire(self, unit: Unit, target: Unit) -> None:
        kind = unit.type
        if kind.projectile_speed:
            flight = travel_ticks(distance(unit.x, unit.y, target.x, target.y), kind.projectile_speed)
            shot = Projectile(kind, target, target.x, target.y, flight)
            self.players[unit.player].projectiles[unit.slot, unit.shots % 2] = shot
            unit.shots += 1
        elif kind.splash_radius:
            centre = unit if kind.splash_self else target
            self.splash(unit.player, kind, centre.x, centre.y)
        else:
            self.hit(kind, target)
        if kind.kamikaze:
            self.burnt.add(unit)

    # 7 to 9. Movement

    def move(self) -> dict[Unit, tuple[int, int]]:
        """Where every unit ends the tick."""
        motions = []
        for unit in self.units:
            walks = unit.acting and unit.mobile and unit not in self.attacking
            motions.append(movement.set_out(unit, unit.target if walks else None))
        movement.push_apart(motions)
        ends = {}
        for motion in motions:
            knock = self.knocks.get(motion.unit, NONE_KNOCKED)
            ends[motion.unit] = movement.resting_place(motion, (knock[0], knock[1]))
        return ends

    # 10. Damage

    def decay_buildings(self) -> None:
        for unit in self.units:
            kind = unit.type
            if kind.lifetime_ticks:
                lost = kind.hp * (unit.age + 1) // kind.lifetime_ticks - kind.hp * unit.age // kind.lifetime_ticks
                self.damage[unit] += lost

    def deal_damage(self) -> list[Unit]:
        """Takes all damage of the tick off at once; returns who died."""
        dead = []
        for unit in self.units:
            damage = self.damage.get(unit, 0)
            if unit.type.is_king and damage > 0:
                unit.awake = True
            if unit.shield > 0:
                unit.shield = max(0, unit.shield - damage)
            else:
                unit.hp -= damage
            if unit.hp <= 0 or unit in self.burnt:
                dead.append(unit)
        for unit in dead:
            unit.alive = False
            player = self.players[unit.player]
            del player.units[unit.slot]
            if unit.slot < NUM_TOWERS and player.king is not None:
                player.king.awake = True
        for unit in self.units:
            if unit.target is not None and not unit.target.alive:
                unit.target = None
        return dead

    def births(self, dead: list[Unit]) -> list[tuple[Player, UnitType, int, int, int, int]]:
        """What the dead and the spawners leave: player, kind, slot, position, ticks of deployment; casts the bombs."""
        born: list[tuple[Player, UnitType, int, int, int, int]] = []
        for player in self.players:
            free = player.free_slots()
            litters = [self.litter(unit) for unit in self.units if unit.player == player.seat]
            litters += [self.barrel(player, spell) for owner, spell in self.landed_barrels if owner is player]
            for kind, places, deploy_ticks in litters:
                for x, y in places:
                    if free:
                        born.append((player, kind, free.pop(0), x, y, deploy_ticks))
        for unit in dead:
            self.leave_bomb(unit)
        return born

    def litter(self, unit: Unit) -> tuple[UnitType, list[tuple[int, int]], int]:
        kind, kinds = unit.type, self.players[unit.player].kinds
        if not unit.alive and kind.death_spawn_id >= 0:
            child, count, radius = kinds[kind.death_spawn_id], kind.death_spawn_count, kind.death_spawn_radius
        elif unit.alive and self.wave_is_due(unit):
            child, count = kinds[kind.spawn_id], kind.spawn_count
            radius = kind.radius + child.radius
        else:
            return kind, [], 0
        return child, self.places(unit.player, unit.x, unit.y, count, radius), child.deploy_ticks

    @staticmethod
    def wave_is_due(unit: Unit) -> bool:
        kind = unit.type
        if kind.spawn_id < 0:
            return False
        since = unit.age - kind.deploy_ticks - kind.spawn_first_ticks
        return since >= 0 and since % kind.spawn_period_ticks == 0

    def barrel(self, player: Player, spell: Spell) -> tuple[UnitType, list[tuple[int, int]], int]:
        assert spell.card is not None
        places = self.places(player.seat, spell.x, spell.y, spell.card.spawn_count, BARREL_RADIUS)
        return player.kinds[spell.card.spawn_id], places, BARREL_DEPLOY_TICKS

    @staticmethod
    def places(seat: int, x: int, y: int, count: int, radius: int) -> list[tuple[int, int]]:
        turned = [turn(seat, right, forward) for right, forward in formation(count, radius)]
        return [(x + dx, y + dy) for dx, dy in turned]

    def leave_bomb(self, unit: Unit) -> None:
        kind = unit.type
        if kind.death_damage:
            area = Area(kind.death_radius, kind.death_damage, kind.death_crown_pct)
            bomb = Spell(area, unit.x, unit.y, max(1, kind.death_delay_ticks), corpse=kind)
            self.players[unit.player].cast(bomb)

    # 11. Time

    def grow_older(self, unit: Unit) -> None:
        unit.deploy_left = max(unit.deploy_left - 1, 0)
        unit.age += 1
        unit.stun = max(unit.stun - 1, 0, self.stuns.get(unit, 0))
        ticks, percent = self.slows.get(unit, (0, 0))
        unit.slow_ticks = max(unit.slow_ticks - 1, 0, ticks)
        unit.slow_percent = max(unit.slow_percent, percent) if unit.slow_ticks else 0
