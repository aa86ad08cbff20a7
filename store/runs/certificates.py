"""Certificates of models; none is ever removed."""

from sourcebound.contracts.certification.certificate import Certificate
from sourcebound.store.connection.database import Pool, store_faults
from sourcebound.store.connection.queries import query


class PostgresCertificates:
    """The table `model_certificates`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(self, certificate: Certificate) -> None:
        """Add a certificate; earlier ones stay."""
        values = {
            "model": certificate.model,
            "policy_version": certificate.policy_version,
            "certified_at": certificate.certified_at,
            "certificate": certificate.model_dump_json(),
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("insert_certificate"), values)

    async def latest(self, model: str) -> Certificate | None:
        """Return the newest certificate of a model under any policy, or None."""
        return next(iter(await self.list(model, 1)), None)

    async def latest_by_model(self) -> dict[str, Certificate]:
        """Return the newest certificate of each model that has one."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("latest_certificates"))
                certificates = [Certificate.model_validate(row["certificate"]) for row in await cursor.fetchall()]
        return {certificate.model: certificate for certificate in certificates}

    async def list(self, model: str | None, limit: int) -> list[Certificate]:
        """Return certificates, newest first: those of one model, or all if it is None."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_certificates"), {"model": model, "limit": limit})
                return [Certificate.model_validate(row["certificate"]) for row in await cursor.fetchall()]
